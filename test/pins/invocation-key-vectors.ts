// The vectors were computed once from the recipe with node:crypto and an encoder of their own. What they say never changes:
// downstream systems keep these keys.

/** Long texts are given by what they repeat. */
type Text = string | { readonly repeat: string; readonly times: number };

interface Vectors {
  readonly invocationKeys: readonly {
    readonly name: string;
    readonly sessionKey: Text;
    readonly toolCallId: string;
    readonly key: string;
  }[];
  readonly derivedKeys: readonly {
    readonly name: string;
    readonly key: string;
    readonly label: Text;
    readonly derivedKey: string;
  }[];
}

export const textOf = (text: Text): string => (typeof text === "string" ? text : text.repeat.repeat(text.times));

const vectors: Vectors = {
  invocationKeys: [
    {
      name: "ASCII",
      sessionKey: "chat-7",
      toolCallId: "toolu_01A09q90qw90lq917835lq9",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
    },
    {
      name: "ASCII, another call",
      sessionKey: "chat-7",
      toolCallId: "call_eee11723464a4b9eb8cee71d",
      key: "ik1_360h3detj5r9a3lh32cr3njji0v7ae36",
    },
    {
      name: "ASCII, another session",
      sessionKey: "chat-8",
      toolCallId: "toolu_01A09q90qw90lq917835lq9",
      key: "ik1_5p8fp42bhaegiju7p9f28rpblkqlqg5c",
    },
    {
      name: "a separator in the call id",
      sessionKey: "a",
      toolCallId: "b:c",
      key: "ik1_oqcv3adcrvf9nfhkq6315hfbv558ptca",
    },
    {
      name: "the same separator in the session key",
      sessionKey: "a:b",
      toolCallId: "c",
      key: "ik1_oa34n1dmlkasun05dnr54uub50m0l7e8",
    },
    {
      name: "the fields the other way round",
      sessionKey: "c",
      toolCallId: "a:b",
      key: "ik1_1cn4vjrpfj68lv4iec2uu4tjvo3nhn0t",
    },
    {
      name: "CJK",
      sessionKey: "\u4f1a\u8a71-\u4e03",
      toolCallId: "\u691c\u7d22_0\u4e00",
      key: "ik1_h7tlrku0u146lo9of6f6i5kgne3ddnk3",
    },
    {
      name: "emoji",
      sessionKey: "\ud83d\udcac\ud83e\uddd1\u200d\ud83d\udcbb",
      toolCallId: "call_\ud83d\udd27",
      key: "ik1_f6q3ou3qq9c3vgu17qgt28bilj8fu7vm",
    },
    {
      name: "composed (NFC)",
      sessionKey: "Zo\u00eb",
      toolCallId: "call_\u00e9",
      key: "ik1_gd6bgdkg9lvtaulh0522q7ech7gddt1c",
    },
    {
      name: "decomposed (NFD)",
      sessionKey: "Zoe\u0308",
      toolCallId: "call_e\u0301",
      key: "ik1_7616p54vdr714etvie44ss2ns5jflfg7",
    },
    {
      name: "a lone high surrogate",
      sessionKey: "chat-\ud83d",
      toolCallId: "call_a",
      key: "ik1_1jqvfdlhco0njhbp1s40onvtoup20247",
    },
    {
      name: "a lone low surrogate",
      sessionKey: "chat-\udcac",
      toolCallId: "call_a",
      key: "ik1_02s8kinalbi7ap0fmus8kqaai9mk7vp9",
    },
    {
      name: "the last lone surrogate, and the first low one",
      sessionKey: "chat-\udfff",
      toolCallId: "call_\udc00",
      key: "ik1_496r0b2dle09mttmmbsc0mhfkgrpip16",
    },
    {
      name: "a pair the wrong way round",
      sessionKey: "chat-\udcac\ud83d",
      toolCallId: "call_a",
      key: "ik1_gnsje4hm8at49b543pp4obhnf0g86e96",
    },
    {
      name: "the pair",
      sessionKey: "chat-\ud83d\udcac",
      toolCallId: "call_a",
      key: "ik1_1dr9goh6bbdptof4qcm8pi8nhnguqn3l",
    },
    {
      name: "a lone surrogate before a pair",
      sessionKey: "\ud83d\ud83d\udcac",
      toolCallId: "call_\ud800",
      key: "ik1_gnkigqvcdppuqdgu01d3finen6u99j28",
    },
    {
      name: "the replacement character",
      sessionKey: "chat-\ufffd",
      toolCallId: "call_a",
      key: "ik1_dc2nl8jbtbspbco5frgetdect4ch8vo6",
    },
    {
      name: "NUL",
      sessionKey: "\u0000",
      toolCallId: "\u0000",
      key: "ik1_1fc3ipvsf9m8f9gfsa79eu68mm0gu90s",
    },
    {
      name: "NUL within",
      sessionKey: "chat\u00007",
      toolCallId: "call\u0000a",
      key: "ik1_4sp8kk0b8131l2egtlqhls5spdf2h6qi",
    },
    {
      name: "an empty session key",
      sessionKey: "",
      toolCallId: "call_a",
      key: "ik1_fge8ugefhclvem8n35lklnshi0fi7uan",
    },
    {
      name: "an empty call id",
      sessionKey: "chat-7",
      toolCallId: "",
      key: "ik1_3na9c55as32sb3jh0rc0e18l52e9p8cj",
    },
    {
      name: "both empty",
      sessionKey: "",
      toolCallId: "",
      key: "ik1_1rgbhbpivt8enk1pv8u7hgrp89p0tbrb",
    },
    {
      name: "a session key of 1 MB",
      sessionKey: {
        repeat: "k",
        times: 1048576,
      },
      toolCallId: "call_a",
      key: "ik1_liflhc0eq4rues7kem1ano6gj0nmgmsc",
    },
    {
      name: "a session key of 1 MB and one character",
      sessionKey: {
        repeat: "k",
        times: 1048577,
      },
      toolCallId: "call_a",
      key: "ik1_hof5fg6k4h5odk092drogl5r0fs5jp9t",
    },
    {
      name: "a session key of 1 MB in CJK",
      sessionKey: {
        repeat: "\u4f1a",
        times: 349526,
      },
      toolCallId: "call_a",
      key: "ik1_0l853neqhp9h6mj2k1kcrq41qh1v5aeb",
    },
    {
      name: "a long session key with lone surrogates",
      sessionKey: {
        repeat: "k\ud800",
        times: 4096,
      },
      toolCallId: "call_a",
      key: "ik1_c4ooefkc9smvvdorj41921vg5isasbsc",
    },
    {
      name: "a chained session key",
      sessionKey: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      toolCallId: "toolu_01A09q90qw90lq917835lq9",
      key: "ik1_s3ms6l6hvri10ill1110e4g4c9vrb2ip",
    },
  ],
  derivedKeys: [
    {
      name: "ASCII",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "charge",
      derivedKey: "ik1_nboi4votomc2c1o5sd4p9clu6pcg679i",
    },
    {
      name: "another label",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "mail",
      derivedKey: "ik1_8qaoo9l2k879ca0dunm5cedtetci4s70",
    },
    {
      name: "an empty label",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "",
      derivedKey: "ik1_eemupsa5gklaauc5qkdtiii8hvn5b0iv",
    },
    {
      name: "derived again",
      key: "ik1_nboi4votomc2c1o5sd4p9clu6pcg679i",
      label: "charge",
      derivedKey: "ik1_qvic3cfu5m8sohq7fo3hr9e7vhf0cppj",
    },
    {
      name: "a key that is not ours",
      key: "order-42",
      label: "charge",
      derivedKey: "ik1_c363hide1j11monulldfcseo8od95dm6",
    },
    {
      name: "CJK",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "\u4f1a\u8a08",
      derivedKey: "ik1_abo8a91un0qf8ild8rrbhq3k57nlsvo7",
    },
    {
      name: "emoji",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "\ud83d\udcb3",
      derivedKey: "ik1_jdl8duoofgj66fjqiimqmfmttd7vtu6o",
    },
    {
      name: "composed (NFC)",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "caf\u00e9",
      derivedKey: "ik1_qk65i14m4k3evr6cc1avj62m8cjc3heu",
    },
    {
      name: "decomposed (NFD)",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "cafe\u0301",
      derivedKey: "ik1_epa996f4epgt9nffe22ut344pg7cahit",
    },
    {
      name: "a lone surrogate",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "\ud800",
      derivedKey: "ik1_m3mt0vp6p74vhr2pbeb2j313pdqh7dbc",
    },
    {
      name: "the replacement character",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "\ufffd",
      derivedKey: "ik1_lp4jcm7rvtnnav1gmhv5get46im4h1ji",
    },
    {
      name: "NUL",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "\u0000",
      derivedKey: "ik1_nndj9nqpn5gji2n0q848jtsjtj4bob5a",
    },
    {
      name: "a label of 1 MB",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: {
        repeat: "k",
        times: 1048576,
      },
      derivedKey: "ik1_9vfgojn567iug46rafpent78agktbnm7",
    },
    {
      name: "a call id as the label",
      key: "ik1_2rttbjhftgbjo7108fg0l80hhujsqm89",
      label: "toolu_01A09q90qw90lq917835lq9",
      derivedKey: "ik1_qhks30lbdr47s4vjiouh49eaam6c5n8f",
    },
  ],
};

export const invocationKeys: Vectors["invocationKeys"] = vectors.invocationKeys;
export const derivedKeys: Vectors["derivedKeys"] = vectors.derivedKeys;
