/**
 * Type kinds. `param` is a type parameter that is not resolved yet; `error` the type of an expression with a problem.
 */
export type TypeKind =
  | 'dyn'
  | 'error'
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'list'
  | 'map'
  | 'type'
  | 'object'
  | 'opaque'
  | 'param';

/** A CEL type. Two types are equal if their `text` is. */
export interface Type {
  readonly kind: TypeKind;
  /** The name at run time: `int`, `list`, `google.protobuf.Timestamp`, or an object type's name. */
  readonly name: string;
  readonly params: readonly Type[];
  /** The name in messages: `map(string, int)`. */
  readonly text: string;
  /** Whether it contains type parameters. */
  readonly isOpen: boolean;
}

const simple = (kind: TypeKind, name: string = kind, text: string = name): Type => ({kind, name, params: [], text, isOpen: false});

/** Thrown for types that only an expression built to exhaust the server has. */
export class TypeTooLarge extends Error {
  constructor() {
    super('the types of the expression are too large');
  }
}

const largestText = 20_000;

const withParams = (kind: TypeKind, name: string, params: readonly Type[]): Type => {
  const text = params.length > 0 ? `${name}(${params.map(param => param.text).join(', ')})` : name;
  if (text.length > largestText) throw new TypeTooLarge();
  return {kind, name, params, text, isOpen: params.some(({isOpen}) => isOpen)};
};

export const dyn = simple('dyn');
export const errorType = simple('error', '*error*', '!error!');
export const nullType = simple('null', 'null_type', 'null');
export const bool = simple('bool');
export const int = simple('int');
export const uint = simple('uint');
export const double = simple('double');
export const string = simple('string');
export const bytes = simple('bytes');
export const timestamp = simple('timestamp', 'google.protobuf.Timestamp', 'timestamp');
export const duration = simple('duration', 'google.protobuf.Duration', 'duration');

export const listOf = (element: Type): Type => withParams('list', 'list', [element]);
export const mapOf = (key: Type, value: Type): Type => withParams('map', 'map', [key, value]);
/** The type of a type value, whose own type may be known. */
export const typeOf = (of?: Type): Type => withParams('type', 'type', of ? [of] : []);
export const objectType = (name: string): Type => simple('object', name);
/** An opaque type of a library. */
export const opaqueType = (name: string, ...params: readonly Type[]): Type => withParams('opaque', name, params);
export const optionalOf = (value: Type): Type => opaqueType('optional_type', value);
export const param = (name: string): Type => ({kind: 'param', name, params: [], text: name, isOpen: true});

export const anyType = typeOf();
export const listType = listOf(dyn);
export const mapType = mapOf(dyn, dyn);

/** Returns the type inside an optional type, or undefined for other types. */
export const optionalElement = (type: Type): Type | undefined =>
  type.kind === 'opaque' && type.name === 'optional_type' ? type.params[0] : undefined;

/** Returns the type with other type parameters. */
export const withTypeParams = (type: Type, params: readonly Type[]): Type => withParams(type.kind, type.name, params);

/** Types that expressions can name. */
export const namedTypes: ReadonlyMap<string, Type> = new Map([
  ...[bool, int, uint, double, string, bytes, nullType, timestamp, duration].map(type => [type.name, type] as const),
  ['list', listType],
  ['map', mapType],
  ['type', anyType],
]);

/** Formats the argument types of a call: `(int, string)`, or `string.(int)` for a member call. */
export const signature = (args: readonly Type[], isMember: boolean): string => {
  const texts = args.map(({text}) => text);
  return isMember ? `${texts[0]}.(${texts.slice(1).join(', ')})` : `(${texts.join(', ')})`;
};
