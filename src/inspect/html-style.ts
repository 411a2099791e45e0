/** The page's whole style: no font, picture or script is loaded, so the file is the same everywhere and offline. */
export const STYLE: string = `
:root{color-scheme:light dark;--page:#f4f5f8;--panel:#fff;--text:#171a21;--dim:#566072;--line:#dfe3ea;--hover:#f1f4f9;
--run:#64748b;--model:#6a5dcc;--call:#0b7a70;--failed:#d02f4b;--paused:#b35c00;--gap:#b35c0014;--name:clamp(15rem,30vw,25rem);--took:5.5rem}
@media(prefers-color-scheme:dark){:root{--page:#0d0f14;--panel:#151821;--text:#e8eaf0;--dim:#9da7b8;--line:#282d3a;--hover:#1c202b;
--run:#8793a7;--model:#a096ff;--call:#2cc7b4;--failed:#ff6f86;--paused:#f0a83a;--gap:#f0a83a1a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:14px/1.45 ui-sans-serif,system-ui,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
main{max-width:1400px;margin:0 auto;padding:28px 24px}
h1{display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px;margin:0;font-size:22px;line-height:1.3;overflow-wrap:anywhere}
h1 span{border:1px solid;border-radius:99px;padding:1px 10px;font-size:12px;font-weight:600}
h1 .completed{color:var(--call)}h1 .failed{color:var(--failed)}h1 .paused,h1 .open{color:var(--paused)}
.totals{display:flex;flex-wrap:wrap;gap:10px 34px;margin:14px 0 18px}
.totals div{display:flex;flex-direction:column-reverse}
.totals dt{color:var(--dim);font-size:12px}
.totals dd{margin:0;font-size:17px;font-weight:600;font-variant-numeric:tabular-nums}
.key{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 10px;color:var(--dim);font-size:12px}
.key span::before{content:"";display:inline-block;width:14px;height:8px;margin-right:6px;border-radius:2px;background:var(--mark)}
.key label{margin-left:auto;cursor:pointer}
.key input{margin:0 6px 0 0;vertical-align:-2px;accent-color:var(--failed)}
main:has(#failed:checked) .row:not(.failed){display:none}
.chart{position:relative;background:var(--panel);border:1px solid var(--line);border-radius:10px;overflow:clip}
.axis{position:sticky;top:0;z-index:2;height:28px;background:var(--panel);border-bottom:1px solid var(--line);color:var(--dim);font-size:11px}
.axis div,.grid{position:absolute;top:0;bottom:0;left:calc(var(--name) + 16px);right:calc(var(--took) + 16px)}
.axis span,.grid span{position:absolute;top:0;bottom:0}
.axis span{padding:6px 0 0 5px;white-space:nowrap;font-variant-numeric:tabular-nums}
.axis .gap{padding-left:0;text-align:center;color:var(--paused);font-weight:600;overflow:hidden}
.grid{pointer-events:none}
.grid span{border-left:1px solid var(--line)}
.grid .gap{border:0;background:repeating-linear-gradient(135deg,var(--gap) 0 5px,transparent 5px 10px)}
.row{position:relative;border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent);content-visibility:auto;contain-intrinsic-size:auto 34px}
.axis+.grid+.row{border-top:0}
summary{display:grid;grid-template-columns:var(--name) 1fr var(--took);align-items:center;min-height:33px;padding:3px 16px;cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
summary:hover{background:color-mix(in srgb,var(--hover) 70%,transparent)}
summary:focus-visible{outline:2px solid var(--model);outline-offset:-2px;border-radius:6px}
.name{display:flex;gap:7px;min-width:0;padding:0 12px 0 calc(var(--depth)*15px);background:repeating-linear-gradient(90deg,var(--line) 0 1px,transparent 1px 15px) 7px 0/calc(var(--depth)*15px - 7px) 100% no-repeat}
.name i{flex:none;width:14px;font-style:normal;font-weight:700;text-align:center;color:var(--mark)}
.what{min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.what b{font-weight:600}.model .what b,.what small{font-size:12px;font-weight:400;color:var(--dim)}
.what em{font-size:12px;font-style:normal;font-weight:600;color:var(--mark)}
.what .again{color:var(--paused);font-weight:600}
.sees{display:block;overflow:hidden;text-overflow:ellipsis;font:11px/1.35 ui-monospace,"Liberation Mono",monospace;color:var(--dim)}
.row{--mark:var(--call)}.run{--mark:var(--run)}.model{--mark:var(--model)}.row.failed{--mark:var(--failed)}.row.paused,.call.open{--mark:var(--paused)}
.track{position:relative;align-self:stretch;min-height:22px}
.bar,.wait{position:absolute;top:50%;height:14px;margin-top:-7px;min-width:3px;border-radius:3px;background:var(--mark)}
.run .bar{height:8px;margin-top:-4px}
.model .bar{background:repeating-linear-gradient(90deg,var(--mark) 0 3px,color-mix(in srgb,var(--mark) 72%,var(--panel)) 3px 6px)}
.unended{border-top-right-radius:0;border-bottom-right-radius:0;-webkit-mask-image:linear-gradient(90deg,#000 50%,#0003);mask-image:linear-gradient(90deg,#000 50%,#0003)}
.wait{height:0;margin-top:-1px;background:none;border-top:2px dashed var(--paused);border-radius:0}
.retry{position:absolute;top:50%;width:2px!important;height:20px;margin-top:-10px;background:var(--paused)}
.took{text-align:right;font-variant-numeric:tabular-nums;color:var(--dim);font-size:13px;white-space:nowrap}
.row dl{position:relative;display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;margin:0;padding:8px 16px 12px calc(37px + var(--name)*0);background:var(--hover);font-size:13px}
.row dt{color:var(--dim)}
.row dd{margin:0;overflow-wrap:anywhere;font-family:ui-monospace,"Liberation Mono",monospace;font-size:12px;line-height:1.6}
footer{margin-top:14px;color:var(--dim);font-size:12px}
@media(max-width:720px){:root{--name:0px;--took:0px}main{padding:18px 12px}.totals{gap:10px 24px}
.axis .odd{display:none}.axis .gap{font-size:0}.axis .gap::before{content:"‖";font-size:11px}
summary{grid-template-columns:1fr auto;padding:5px 16px 4px}
.track{grid-row:2;grid-column:1/-1}.name{padding-right:8px;padding-left:calc(var(--depth)*9px);background-size:0 0}.key label{margin-left:0}}
@media print{.row{content-visibility:visible}}
`.trim();
