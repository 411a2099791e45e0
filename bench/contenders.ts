// Angular compiles what it imports at run time, so its compiler has to be there first.
import "@angular/compiler";
import { HttpContext, HttpContextToken } from "@angular/common/http";
import { type ContextKey, type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import { createContextKey as createOtelKey, type Context as OtelContext, ROOT_CONTEXT } from "@opentelemetry/api";
import { Context } from "effect";
import { Map as ImmutableMap } from "immutable";
import { type ExtensionToken, extensionToken, ToolCallExtensions } from "../src/index.ts";

const VALUE: object = { answer: 42 };

/** One way to carry values to a call. */
export interface Contender<Key, Instance> {
  readonly name: string;
  readonly createKey: (id: string) => Key;
  readonly empty: () => Instance;
  /** Fills a long-lived parent. */
  readonly build: (keys: readonly Key[]) => Instance;
  /** Makes an independent child with one entry more. */
  readonly bind: (parent: Instance, key: Key) => Instance;
  /** One read, three times for a map: they are apart because the floor has properties instead of keys. */
  readonly reads: readonly [invocation: Read<Key, Instance>, first: Read<Key, Instance>, second: Read<Key, Instance>];
}

type Read<Key, Instance> = (child: Instance, key: Key) => unknown;

function mapLike<Key, Instance>(
  contender: Omit<Contender<Key, Instance>, "reads">,
  read: Read<Key, Instance>,
): Contender<Key, Instance> {
  return { ...contender, reads: [read, read, read] };
}

interface FloorRecord {
  readonly invocation: object | undefined;
  readonly entries: { readonly first: object; readonly second: object };
}

const buildFloor = (): FloorRecord => ({ invocation: undefined, entries: { first: VALUE, second: VALUE } });

export const floor: Contender<string, FloorRecord> = {
  name: "floor",
  createKey: (id) => id,
  empty: buildFloor,
  build: buildFloor,
  bind: (parent) => ({ invocation: VALUE, entries: parent.entries }),
  reads: [(child) => child.invocation, (child) => child.entries.first, (child) => child.entries.second],
};

type Token = ExtensionToken<string, object>;

export const ours: Contender<Token, ToolCallExtensions<string>> = mapLike(
  {
    name: "ours, insert + get",
    createKey: (id) => extensionToken(id).of<object>(),
    empty: () => new ToolCallExtensions<string>(),
    build: (keys) => {
      const extensions = new ToolCallExtensions<string>();
      for (const key of keys) extensions.insert(key, VALUE);
      return extensions;
    },
    bind: (parent, key) => parent["~bind"](key, VALUE),
  },
  (child, key) => child.get(key),
);

export const oursTracked: Contender<Token, ToolCallExtensions<string>> = mapLike(
  {
    ...ours,
    name: "ours, with + require",
    build: (keys) => {
      let extensions: ToolCallExtensions<string> = new ToolCallExtensions<string>();
      for (const key of keys) extensions = extensions.with(key, VALUE);
      return extensions;
    },
  },
  (child, key) => child.require(key),
);

type ServiceKey = Context.Service<object, object>;

/** Two ways to build, as neither is the faster one at all sizes. */
export const effect: Contender<ServiceKey, Context.Context<object>> = mapLike(
  {
    name: "Effect, makeUnsafe",
    createKey: (id) => Context.Service<object>(id),
    empty: () => Context.makeUnsafe<object>(new Map()),
    build: (keys) => Context.makeUnsafe<object>(new Map(keys.map(({ key }) => [key, VALUE]))),
    bind: (parent, key) => Context.add(parent, key, VALUE),
  },
  (child, key) => Context.get(child, key),
);

export const effectAdd: Contender<ServiceKey, Context.Context<object>> = mapLike(
  {
    ...effect,
    name: "Effect, add",
    build: (keys) => keys.reduce((context, key) => Context.add(context, key, VALUE), effect.empty()),
  },
  (child, key) => Context.get(child, key),
);

interface MapKey {
  readonly id: string;
}

export const nativeMap: Contender<MapKey, Map<MapKey, object>> = mapLike(
  {
    name: "new Map(old)",
    createKey: (id) => ({ id }),
    empty: () => new Map<MapKey, object>(),
    build: (keys) => new Map(keys.map((key) => [key, VALUE])),
    bind: (parent, key) => new Map(parent).set(key, VALUE),
  },
  (child, key) => child.get(key),
);

/** String keys, because it hashes an object through a `WeakMap`. */
export const immutable: Contender<string, ImmutableMap<string, object>> = mapLike(
  {
    name: "Immutable Map",
    createKey: (id) => id,
    empty: () => ImmutableMap<string, object>(),
    build: (keys) => ImmutableMap(keys.map((key) => [key, VALUE])),
    bind: (parent, key) => parent.set(key, VALUE),
  },
  (child, key) => child.get(key),
);

export const openTelemetry: Contender<symbol, OtelContext> = mapLike(
  {
    name: "OpenTelemetry Context",
    createKey: createOtelKey,
    empty: () => ROOT_CONTEXT,
    build: (keys) => keys.reduce((context, key) => context.setValue(key, VALUE), ROOT_CONTEXT),
    bind: (parent, key) => parent.setValue(key, VALUE),
  },
  (child, key) => child.getValue(key),
);

type ConnectKey = ContextKey<object | undefined>;

/** It has no copy of its own; a spread takes its methods along, as they are own properties. */
export const connect: Contender<ConnectKey, ContextValues> = mapLike(
  {
    name: "Connect ContextValues",
    createKey: () => createContextKey<object | undefined>(undefined),
    empty: createContextValues,
    build: (keys) => keys.reduce((values, key) => values.set(key, VALUE), createContextValues()),
    bind: (parent, key) => ({ ...parent }).set(key, VALUE),
  },
  (child, key) => child.get(key),
);

type AngularToken = HttpContextToken<object | undefined>;

/** It has no copy of its own, only what one can be made of. */
export const angular: Contender<AngularToken, HttpContext> = mapLike(
  {
    name: "Angular HttpContext",
    createKey: () => new HttpContextToken<object | undefined>(() => undefined),
    empty: () => new HttpContext(),
    build: (keys) => keys.reduce((context, key) => context.set(key, VALUE), new HttpContext()),
    bind: (parent, key) => {
      const child = new HttpContext();
      for (const old of parent.keys()) child.set(old, parent.get(old));
      return child.set(key, VALUE);
    },
  },
  (child, key) => child.get(key),
);
