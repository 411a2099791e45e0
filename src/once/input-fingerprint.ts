import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { ToolCallExtensionsError } from "../index.ts";

const DOMAIN = "tool-call-extensions/input-fingerprint/1";

/**
 * Gives SHA-256, as hex, of the tool's name and its input in canonical JSON: two inputs that differ only in the order of
 * their properties have one fingerprint.
 *
 * JSON is written as in RFC 8785. A schema may also make what JSON cannot hold, such as a bigint: those have forms of their own
 * that no JSON text has.
 */
export function inputFingerprint(toolName: string, input: unknown): string {
  const text = new CanonicalText(toolName).of(input);
  return bytesToHex(sha256(utf8ToBytes(`${DOMAIN}\n${JSON.stringify(toolName)}\n${text}`)));
}

class CanonicalText {
  readonly #toolName: string;
  readonly #ancestors: object[] = [];

  constructor(toolName: string) {
    this.#toolName = toolName;
  }

  of(value: unknown): string {
    switch (typeof value) {
      case "string":
        return JSON.stringify(value);
      case "number":
        return Object.is(value, -0) ? "0" : String(value);
      case "boolean":
      case "undefined":
        return String(value);
      case "bigint":
        return `${value}n`;
      case "object":
        return value === null ? "null" : this.#nested(value);
      default:
        throw this.#notComparable(`a ${typeof value}`);
    }
  }

  #nested(value: object): string {
    if (this.#ancestors.includes(value)) throw this.#notComparable("a cycle");
    this.#ancestors.push(value);
    const text = this.#object(value);
    this.#ancestors.pop();
    return text;
  }

  #object(value: object): string {
    if (Array.isArray(value)) return `[${this.#list(value)}]`;
    if (value instanceof Map) return `map[${this.#list(value)}]`;
    if (value instanceof Set) return `set[${this.#list(value)}]`;
    if (value instanceof ArrayBuffer) return `bytes[${bytesToHex(new Uint8Array(value))}]`;
    if (ArrayBuffer.isView(value)) return this.#bytes(value);
    if ("toJSON" in value && typeof value.toJSON === "function") return this.of(value.toJSON());
    return this.#properties(value);
  }

  #bytes({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
    return `bytes[${bytesToHex(new Uint8Array(buffer, byteOffset, byteLength))}]`;
  }

  #list(items: Iterable<unknown>): string {
    return Array.from(items, (item) => this.of(item)).join();
  }

  #properties(value: object): string {
    const prototype: unknown = Object.getPrototypeOf(value);
    const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
    const entries = Object.entries(value).filter(([, property]) => property !== undefined);
    // A file, say: all of them would count as the same.
    if (!isPlain && entries.length === 0) throw this.#notComparable("an object without properties of its own");
    const byName = entries.sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${byName.map(([name, property]) => `${JSON.stringify(name)}:${this.of(property)}`).join()}}`;
  }

  #notComparable(received: string): ToolCallExtensionsError {
    const argument = `the input of tool "${this.#toolName}"`;
    const expected =
      "comparable: JSON, dates, bytes, maps and sets; say with option fingerprintOf of once() what to compare";
    const message = `${argument} must be ${expected}; received ${received}`;
    return new ToolCallExtensionsError("invalid-argument", message, { argument, received, expected });
  }
}
