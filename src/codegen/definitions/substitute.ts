import type {Body, Declaration, TypeNode} from '#src/codegen/declarations/syntax.js';
import {failureAt, type Place} from '#src/codegen/declarations/syntax.js';

/** Types by the names of the parameters that they stand for. */
export type Arguments = ReadonlyMap<string, TypeNode>;

const without = (of: Arguments, names: readonly string[]): Arguments => new Map([...of].filter(([name]) => !names.includes(name)));

/** The names that `infer` declares in a type. */
const inferred = (type: TypeNode): readonly string[] => {
  const names: string[] = [];
  mapTypes(type, each => {
    if (each.is === 'infer') names.push(each.name);
    else names.push(...inferred(each));
    return each;
  });
  return type.is === 'infer' ? [type.name] : names;
};

const mapBody = ({properties, index}: Body, map: (type: TypeNode) => TypeNode): Body => ({
  properties: properties.map(each => ({...each, type: map(each.type)})),
  ...(index ? {index: map(index)} : {}),
});

/** Returns a type with the types directly within it replaced. */
const mapTypes = (type: TypeNode, map: (type: TypeNode) => TypeNode): TypeNode => {
  switch (type.is) {
    case 'name':
      return {...type, of: type.of.map(map)};
    case 'array':
      return {...type, items: map(type.items)};
    case 'tuple':
    case 'union':
    case 'intersection':
      return {...type, members: type.members.map(map)};
    case 'object':
      return {...type, body: mapBody(type.body, map)};
    case 'keyof':
    case 'documented':
      return {...type, type: map(type.type)};
    case 'index':
      return {...type, type: map(type.type), key: map(type.key)};
    case 'mapped':
      return {...type, keys: map(type.keys), ...(type.as ? {as: map(type.as)} : {}), type: map(type.type)};
    case 'conditional':
      return {...type, check: map(type.check), base: map(type.base), yes: map(type.yes), no: map(type.no)};
    case 'template':
      return {...type, types: type.types.map(map)};
    default:
      return type;
  }
};

/** Returns a type with its parameters replaced by their arguments. */
export const substituted = (type: TypeNode, of: Arguments): TypeNode => {
  if (of.size === 0) return type;
  if (type.is === 'name' && type.qualifier === undefined && type.of.length === 0) return of.get(type.name) ?? type;
  if (type.is === 'mapped') {
    const inner = without(of, [type.parameter]);
    return {
      ...type,
      keys: substituted(type.keys, of),
      ...(type.as ? {as: substituted(type.as, inner)} : {}),
      type: substituted(type.type, inner),
    };
  }
  if (type.is === 'conditional') {
    const {check, base, yes, no} = type;
    const parameter = check.is === 'name' && check.of.length === 0 && of.has(check.name) ? check.name : undefined;
    const rest = parameter === undefined ? of : without(of, [parameter]);
    return {
      ...type,
      check: substituted(check, of),
      base: substituted(base, rest),
      yes: substituted(yes, without(rest, inferred(base))),
      no: substituted(no, rest),
      ...(parameter === undefined ? {} : {distributesOver: parameter}),
    };
  }
  return mapTypes(type, each => substituted(each, of));
};

/** Returns a declaration of a generic type with its parameters replaced. Throws an error if arguments are missing. */
export const instantiated = (declaration: Declaration, of: readonly TypeNode[], at: Place): Declaration => {
  const {name, parameters} = declaration;
  if (of.length > parameters.length)
    throw failureAt(at, `${name} has ${parameters.length === 0 ? 'no' : 'fewer'} type parameters than are given`);
  if (parameters.length === 0) return declaration;
  const given = new Map<string, TypeNode>();
  for (const [index, {name: parameter, default: fallback}] of parameters.entries()) {
    const type = of[index] ?? (fallback && substituted(fallback, given));
    if (!type) throw failureAt(at, `${name} needs a type for its parameter ${parameter}`);
    given.set(parameter, type);
  }
  if (declaration.is === 'enum') return declaration;
  if (declaration.is === 'alias') return {...declaration, type: substituted(declaration.type, given)};
  return {
    ...declaration,
    bases: declaration.bases.map(base => substituted(base, given)),
    body: mapBody(declaration.body, type => substituted(type, given)),
  };
};
