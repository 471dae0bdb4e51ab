// Small questions about types, and what the parts of this folder need to know of each other's types.

import type {Body, Place, TypeNode} from '#src/codegen/declarations/syntax.js';

export type Literal = TypeNode & {readonly is: 'literal'};

/** Tells what types come to. */
export interface TypeReader {
  /** Returns what an operator comes to. Other types stay. */
  applied(type: TypeNode): TypeNode;
  /** Returns a type with names replaced by what they stand for. */
  resolved(type: TypeNode): TypeNode;
  members(type: TypeNode): readonly TypeNode[];
  literals(type: TypeNode): readonly Literal[] | undefined;
  body(type: TypeNode): Body;
}

/** Returns a type of the language. */
export const plain = (name: string, at: Place): TypeNode => ({is: 'name', name, of: [], at});

export const isNamed = (type: TypeNode, ...names: readonly string[]): boolean =>
  type.is === 'name' && names.includes(type.name) && type.of.length === 0 && type.qualifier === undefined;

export const isNull = (type: TypeNode): boolean => type.is === 'literal' && type.value === null;
export const isUndefined = (type: TypeNode): boolean => isNamed(type, 'undefined', 'void');

/** Returns the union of types; the only one if there is one. */
export const unionOf = (members: readonly TypeNode[], at: Place): TypeNode =>
  members.length === 1 ? members[0]! : members.length === 0 ? plain('never', at) : {is: 'union', members, at};

/** Returns a type without `undefined`. */
export const withoutUndefined = (type: TypeNode, types: TypeReader): TypeNode => {
  const applied = types.applied(type);
  return applied.is === 'union'
    ? unionOf(
        applied.members.filter(each => !isUndefined(types.applied(each))),
        type.at,
      )
    : applied;
};

/** Returns a type without `null` and `undefined`. */
export const withoutNothing = (type: TypeNode, types: TypeReader): TypeNode => {
  const applied = types.applied(type);
  if (applied.is !== 'union') return applied;
  return unionOf(
    applied.members.filter(each => !isUndefined(types.applied(each)) && !isNull(types.applied(each))),
    type.at,
  );
};
