// The utility types of TypeScript.

import {failureAt, type Body, type Place, type TypeNode} from '#src/codegen/declarations/syntax.js';
import {Conditions} from './conditions.js';
import {isNamed, unionOf, withoutNothing, withoutUndefined, type TypeReader} from './nodes.js';

/** Returns what a utility type comes to; undefined if its arguments are none that it takes. */
type Utility = (of: readonly TypeNode[], at: Place, types: TypeReader) => TypeNode | undefined;

const changed =
  (change: (body: Body, types: TypeReader) => Body): Utility =>
  ([type], at, types) =>
    type && {is: 'object', body: change(types.body(type), types), at};

const namesOf = (type: TypeNode, at: Place, types: TypeReader): ReadonlySet<string> => {
  const literals = types.literals(type);
  if (!literals) throw failureAt(at, 'the names of properties must be literals');
  return new Set(literals.map(({value}) => String(value)));
};

const filtered =
  (isKept: (name: string, names: ReadonlySet<string>) => boolean): Utility =>
  ([type, names], at, types) => {
    if (!type || !names) return undefined;
    const given = namesOf(names, at, types);
    const {properties, ...rest} = types.body(type);
    return {is: 'object', body: {...rest, properties: properties.filter(({name}) => isKept(name, given))}, at};
  };

const matching =
  (isKept: boolean): Utility =>
  ([type, other], at, types) => {
    if (!type || !other) return undefined;
    const conditions = new Conditions(types);
    return unionOf(
      types.members(type).filter(each => conditions.extends(each, other) === isKept),
      at,
    );
  };

const spelled =
  (spell: (text: string) => string): Utility =>
  ([type], at, types) => {
    const literals = type && types.literals(type);
    return (
      literals &&
      unionOf(
        literals.map(({value}) => ({is: 'literal', value: spell(String(value)), at})),
        at,
      )
    );
  };

const none =
  (hint: string): Utility =>
  (_, at) => ({is: 'none', reason: hint, at});

const functions = none('types of functions cannot become a schema: write out the type');

export const utilities: Readonly<Record<string, Utility>> = {
  Partial: changed(body => ({...body, properties: body.properties.map(each => ({...each, isOptional: true}))})),
  Required: changed((body, types) => ({
    ...body,
    properties: body.properties.map(each => ({...each, isOptional: false, type: withoutUndefined(each.type, types)})),
  })),
  Readonly: ([type]) => type,
  NonNullable: ([type], _, types) => type && withoutNothing(type, types),
  Pick: filtered((name, names) => names.has(name)),
  Omit: filtered((name, names) => !names.has(name)),
  Exclude: matching(false),
  Extract: matching(true),
  Record([keys, type], at, types) {
    if (!keys || !type) return undefined;
    if (isNamed(types.resolved(keys), 'string', 'number')) return {is: 'object', body: {properties: [], index: type}, at};
    return {is: 'mapped', parameter: '', keys, optional: 'kept', type, at};
  },
  Uppercase: spelled(text => text.toUpperCase()),
  Lowercase: spelled(text => text.toLowerCase()),
  Capitalize: spelled(text => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`),
  Uncapitalize: spelled(text => `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`),
  ReturnType: functions,
  Parameters: functions,
  InstanceType: functions,
  ConstructorParameters: functions,
  Awaited: functions,
  Function: none('functions cannot become a schema'),
  Promise: none('a Promise cannot become a schema: write the type of its value'),
  Map: none('a Map is no JSON: use Record<string, T>'),
  ReadonlyMap: none('a Map is no JSON: use Record<string, T>'),
  Set: none('a Set is no JSON: use T[] with @listType set'),
  ReadonlySet: none('a Set is no JSON: use T[] with @listType set'),
  RegExp: none('a RegExp is no JSON: use a string'),
  URL: none('a URL is no JSON: use a string with @format uri'),
  Error: none('an Error is no JSON: use a string'),
  Uint8Array: none('bytes are no JSON: use a string with @format byte'),
  Buffer: none('bytes are no JSON: use a string with @format byte'),
  ArrayBuffer: none('bytes are no JSON: use a string with @format byte'),
};
