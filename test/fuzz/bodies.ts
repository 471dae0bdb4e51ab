// Random bodies: samples of a kind with changed values, in every encoding, some with damaged bytes; and patches of
// every kind.
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {encodeCbor} from '#src/schema/cbor/encode.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import type {Chance} from '#test/apiserver/fuzz-requests.js';

const codec = await protobufCodec();

const strange: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  'a',
  'A_b',
  '-',
  '..',
  'a/b',
  '\0',
  '\ud800',
  '__proto__',
  'x'.repeat(300),
  '1Gi',
  '1e999999',
  '2026-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '0.s000s000s000s000s000s000s000s000n',
  '::1',
  '10.0.0.1/33',
  '$(A)$(B)',
  '{{x}}',
  'self.x',
  '^(a+)+$',
  [],
  {},
  [null],
  [[]],
  {'': ''},
  ['a', 'a', 'a'],
  {a: {b: {c: {}}}},
];

const keys = [
  'name',
  'metadata',
  'spec',
  'status',
  'labels',
  'items',
  'kind',
  '$patch',
  '$retainKeys',
  '$setElementOrder/items',
  '__proto__',
  'constructor',
  'x',
  '',
];

type Container = Record<string, unknown> | unknown[];
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;
const set = (container: Container, key: string | number, value: unknown): void => {
  Object.defineProperty(container, key, {value, writable: true, enumerable: true, configurable: true});
};

/** All containers within a value. */
const containersOf = (value: unknown): Container[] => (isContainer(value) ? [value, ...Object.values(value).flatMap(containersOf)] : []);

/** Changes some values, adds keys, repeats items. */
export const changed = <T extends object>(chance: Chance, object: T): T => {
  const copy = structuredClone(object);
  for (let rounds = chance.upTo(3); rounds > 0; rounds--) {
    const container = chance.of(containersOf(copy));
    const known = Object.keys(container);
    const key = known.length > 0 && chance.is(0.8) ? chance.of(known) : Array.isArray(container) ? container.length : chance.of(keys);
    const from = chance.of(containersOf(object));
    set(container, key, structuredClone(chance.is(0.7) ? chance.of(strange) : from));
    if (Array.isArray(container) && chance.is(0.2)) container.push(...container.slice(0, 20));
  }
  return copy;
};

const damaged = (chance: Chance, bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes);
  for (let rounds = 1 + chance.upTo(4); rounds > 0 && copy.length > 0; rounds--) copy[chance.upTo(copy.length - 1)] = chance.upTo(255);
  return chance.is(0.2) ? copy.subarray(0, chance.upTo(copy.length)) : copy;
};

export interface Encoded {
  readonly bytes: Buffer;
  readonly type: string;
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? 'null');
const yamlOf = (chance: Chance, value: unknown): string => {
  const text = JSON.stringify(value) ?? '';
  return chance.is(0.5)
    ? text
    : chance.of([
        `--- \n${text}\n...`,
        `a: &a ${text}\nb: [*a, *a]`,
        `${text.slice(1, -1)}`,
        `# x\n${text}`,
        `!!map ${text}`,
        `? ${text}\n: x`,
      ]);
};

const asProtobuf = (object: object, naming: Naming): Buffer | undefined => {
  try {
    return Buffer.from(codec.encodeObject(plain(object) as Record<string, unknown>, naming));
  } catch {
    return undefined;
  }
};

/** An object in one of the encodings of bodies. */
export const encoded = (chance: Chance, object: object, naming: Naming): Encoded => {
  const pick = chance.upTo(9);
  const whole = (): Encoded => {
    if (pick < 4) return {bytes: Buffer.from(JSON.stringify(object)), type: 'application/json'};
    if (pick < 6) return {bytes: Buffer.from(yamlOf(chance, object)), type: 'application/yaml'};
    if (pick < 8) return {bytes: Buffer.from(encodeCbor(plain(object) as KubeObject)), type: 'application/cbor'};
    const bytes = asProtobuf(object, naming);
    return bytes ? {bytes, type: naming.protobufMediaType} : {bytes: Buffer.from(JSON.stringify(object)), type: 'application/json'};
  };
  const {bytes, type} = whole();
  return {
    bytes: chance.is(0.25) ? damaged(chance, bytes) : bytes,
    type: chance.is(0.03) ? chance.of(['', 'text/plain', 'application/x', ';', naming.protobufMediaType]) : type,
  };
};

const pointerOf = (chance: Chance, object: unknown): string => {
  let pointer = '';
  for (let at = object; isContainer(at) && chance.is(0.85);) {
    const known = Object.keys(at);
    const key = known.length > 0 ? chance.of(known) : '-';
    pointer += `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    at = (at as Record<string, unknown>)[key];
  }
  return chance.is(0.2) ? `${pointer}/${chance.of([...keys, '-', '0', '99', '~2'])}` : pointer;
};

/** A patch that is nearly right for an object. */
export const aPatch = (chance: Chance, object: object): Encoded => {
  const pick = chance.upTo(3);
  if (pick === 0) {
    const operations = Array.from({length: chance.upTo(5)}, () => ({
      op: chance.of(['add', 'remove', 'replace', 'move', 'copy', 'test']),
      path: pointerOf(chance, object),
      from: pointerOf(chance, object),
      value: chance.of(strange),
    }));
    return {bytes: Buffer.from(JSON.stringify(operations)), type: 'application/json-patch+json'};
  }
  const text = Buffer.from(JSON.stringify(changed(chance, object)));
  const bytes = chance.is(0.05) ? damaged(chance, text) : text;
  if (pick === 1) return {bytes, type: 'application/merge-patch+json'};
  if (pick === 2) return {bytes, type: 'application/strategic-merge-patch+json'};
  return chance.is(0.3)
    ? {bytes: Buffer.from(encodeCbor(plain(object) as KubeObject)), type: 'application/apply-patch+cbor'}
    : {bytes, type: 'application/apply-patch+yaml'};
};
