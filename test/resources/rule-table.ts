import test from 'ava';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {readGates} from '#src/options/feature-gates.js';
import {readVersions} from '#src/options/versions.js';
import {warningsOf} from './warnings.js';
import {findings, startEnvironment} from './environment.js';

const {gates} = readGates(new Map(), readVersions([], []));
const usual = (name: string): boolean => gates.enabled(name as Parameters<typeof gates.enabled>[0]);

/** The gates of the release, but for some. */
export const gate =
  (on: readonly string[], off: readonly string[] = []) =>
  (name: string): boolean =>
    on.includes(name) || (usual(name) && !off.includes(name));

type Environment = Awaited<ReturnType<typeof startEnvironment>>;
const environments = new Map<string, Promise<Environment>>();

/** One server for all cases that are validated with the same gates. */
const environmentWith = (on: readonly string[], off: readonly string[]): Promise<Environment> => {
  const key = `${on.join()};${off.join()}`;
  const env = environments.get(key) ?? startEnvironment({gate: gate(on, off)});
  environments.set(key, env);
  return env;
};

let count = 0;
/** An object as a row of a table gives it, which may leave out its name. */
export interface Given {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

const named = <T extends KubeObject>(kind: Kind<T>, object: Given): T =>
  ({...object, metadata: {name: `r${count++}`, ...(kind.namespaced ? {namespace: 'default'} : {}), ...object.metadata}}) as unknown as T;

interface More {
  readonly on?: readonly string[];
  readonly off?: readonly string[];
}

/** An object to create, and the causes it is refused with (`path: message`); none when it is accepted. */
export type Creation = readonly [title: string, object: Given, expected: readonly string[], more?: More];

/** Every row is an object of the kind that is created. */
export const testCreations = <T extends KubeObject>(kind: Kind<T>, cases: readonly Creation[]): void => {
  for (const [title, object, expected, {on = [], off = []} = {}] of cases) {
    test(`${kind.plural} of ${kind.group}/${kind.version}: ${title} is ${expected.length > 0 ? 'refused' : 'taken'}`, async t => {
      const {of} = await environmentWith(on, off);

      t.deepEqual(await findings(of(kind).create(named(kind, object))), [...expected]);
    });
  }
};

/**
 * An object, its update, and the causes that the update is refused with. Fields of the new object replace those of the
 * old one.
 */
export type Change = readonly [
  title: string,
  old: Given,
  fields: Given,
  expected: readonly string[],
  more?: More & {readonly subresource?: string; readonly status?: object},
];

/** Every row is a change of an object of the kind. */
export const testUpdates = <T extends KubeObject>(kind: Kind<T>, cases: readonly Change[]): void => {
  for (const [title, old, fields, expected, {on = [], off = [], subresource, status} = {}] of cases) {
    test(`${kind.plural} of ${kind.group}/${kind.version}: a change to ${title} is ${expected.length > 0 ? 'refused' : 'taken'}`, async t => {
      const {of} = await environmentWith(on, off);
      const made = await of(kind).create(named(kind, old));
      const stored = status ? await of(kind).update({...made, status} as T, {subresource: 'status'}) : made;
      const changed = {...stored, ...fields, metadata: {...stored.metadata, ...fields.metadata}} as T;

      t.deepEqual(await findings(of(kind).update(changed, subresource === undefined ? {} : {subresource})), [...expected]);
    });
  }
};

/** Every row is an object and the warnings of its creation. */
export const warnsOnCreation = <T extends KubeObject>(kind: Kind<T>, cases: readonly Creation[]): void => {
  for (const [title, object, expected, {on = [], off = []} = {}] of cases) {
    test(`${kind.plural} of ${kind.group}/${kind.version}: ${title} is ${expected.length > 0 ? 'warned of' : 'taken in silence'}`, async t => {
      const env = await environmentWith(on, off);

      t.deepEqual(await warningsOf(env, client => client.resource(kind).create(named(kind, object))), [...expected]);
    });
  }
};

/** Every row is an object, and the part of it that is left once it is created. */
export const keepsOnCreation = <T extends KubeObject>(
  kind: Kind<T>,
  cases: readonly (readonly [title: string, object: Given, left: Given, more?: More])[],
): void => {
  for (const [title, object, left, {on = [], off = []} = {}] of cases) {
    test(`${kind.plural} of ${kind.group}/${kind.version}: ${title}`, async t => {
      const {of} = await environmentWith(on, off);
      const made = (await of(kind).create(named(kind, object))) as unknown as Given;

      t.deepEqual(Object.fromEntries(Object.keys(left).map(field => [field, made[field]])), {...left});
    });
  }
};
