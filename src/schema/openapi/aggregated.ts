import {sameContent, sameInSteps} from '#src/api/equal.js';
import {jsonText} from '#src/base/json/json.js';
import {weightLeft} from '#src/base/json/json-weight.js';
import type {Steps} from '#src/base/steps.js';
import {setProperty} from '#src/base/json/set-property.js';
import {isPlainObject, ownField, type PlainObject} from '#src/schema/decode/plain.js';

// Merges OpenAPI documents of aggregated API servers into ours, in steps. Works on parsed JSON; definitions with
// conflicting names are renamed.

/** Some paths of another server's document, with the definitions they need. */
export interface DocumentPart {
  readonly paths: PlainObject;
  readonly definitions: PlainObject;
}

const definitionPrefix = '#/definitions/';
const parameterPrefix = '#/parameters/';

const objectAt = (document: PlainObject, key: string): PlainObject => {
  const value = ownField(document, key);
  return isPlainObject(value) ? value : {};
};

/** Returns a copy in which `change` may replace each object. */
const mapped = (value: unknown, change: (object: PlainObject) => unknown): unknown => {
  if (Array.isArray(value)) return value.map(item => mapped(item, change));
  if (!isPlainObject(value)) return value;
  const changed = change(value);
  if (!isPlainObject(changed)) return changed;
  const copy: PlainObject = {};
  for (const key of Object.keys(changed)) setProperty(copy, key, mapped(changed[key], change));
  return copy;
};

/** Values up to this weight are handled in one step. */
const weightAtOnce = 500;

const isLight = (value: unknown): boolean => weightLeft(value, weightAtOnce) >= 0;

const mappedInSteps = function* (value: unknown, change: (object: PlainObject) => unknown): Steps<unknown> {
  if (typeof value !== 'object' || isLight(value)) return mapped(value, change);
  yield;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(yield* mappedInSteps(item, change));
    return items;
  }
  const changed = change(value as PlainObject);
  if (!isPlainObject(changed)) return changed;
  const copy: PlainObject = {};
  for (const key of Object.keys(changed)) {
    setProperty(copy, key, yield* mappedInSteps(changed[key], change));
    yield;
  }
  return copy;
};

const referenceOf = (object: PlainObject, prefix: string): string | undefined => {
  const reference = ownField(object, '$ref');
  return typeof reference === 'string' && reference.startsWith(prefix) ? reference.slice(prefix.length) : undefined;
};

/** The limit of the text that operations get by inlining shared parameters. */
const maxInlinedLength = 64 << 20;

/** Inlines the shared parameters into each operation. Throws if that makes a document much larger. */
const withOwnParameters = (paths: unknown, shared: PlainObject): Steps<unknown> => {
  const lengths = new Map<string, number>();
  let inlined = 0;
  return mappedInSteps(paths, object => {
    const name = referenceOf(object, parameterPrefix);
    const parameter = name === undefined ? undefined : ownField(shared, name);
    if (name === undefined || parameter === undefined) return object;
    if (!lengths.has(name)) lengths.set(name, jsonText(parameter).length);
    inlined += lengths.get(name)!;
    if (inlined > maxInlinedLength)
      throw new Error(`the shared parameters of the document have more than ${maxInlinedLength} characters in its paths`);
    return parameter;
  });
};

/** Returns the definitions that a value refers to, and those that these need. */
const needed = function* (value: unknown, definitions: PlainObject): Steps<PlainObject> {
  const found: PlainObject = {};
  const pending = [value];
  while (pending.length > 0) {
    yield* mappedInSteps(pending.pop(), object => {
      const name = referenceOf(object, definitionPrefix);
      if (name !== undefined && !Object.hasOwn(found, name) && Object.hasOwn(definitions, name)) {
        setProperty(found, name, definitions[name]);
        pending.push(definitions[name]);
      }
      return object;
    });
    yield;
  }
  return found;
};

/** Returns the part of an OpenAPI 2.0 document with the paths below a prefix. */
export const pathsUnder = function* (document: PlainObject, prefix: string): Steps<DocumentPart> {
  const below = Object.fromEntries(Object.entries(objectAt(document, 'paths')).filter(([path]) => path.startsWith(prefix)));
  yield;
  const paths = (yield* withOwnParameters(below, objectAt(document, 'parameters'))) as PlainObject;
  return {paths, definitions: yield* needed(paths, objectAt(document, 'definitions'))};
};

const renamed = (value: unknown, names: ReadonlyMap<string, string>): Steps<unknown> =>
  mappedInSteps(value, object => {
    const name = referenceOf(object, definitionPrefix);
    const other = name === undefined ? undefined : names.get(name);
    return other === undefined ? object : {...object, $ref: `${definitionPrefix}${other}`};
  });

/** Returns `name_v2`, or the first following name that is free or has the same definition. */
const otherName = function* (name: string, definition: unknown, taken: PlainObject): Steps<string> {
  for (let count = 2; ; count++) {
    const candidate = `${name}_v${count}`;
    if (!Object.hasOwn(taken, candidate) || (yield* sameInSteps(taken[candidate], definition, sameContent))) return candidate;
  }
};

/**
 * Adds parts of other documents to an OpenAPI 2.0 document: existing paths stay, and conflicting definitions are
 * renamed.
 */
export const mergeParts = function* (document: PlainObject, parts: readonly DocumentPart[]): Steps<PlainObject> {
  const paths = {...objectAt(document, 'paths')};
  const definitions = {...objectAt(document, 'definitions')};
  for (const part of parts) {
    const names = new Map<string, string>();
    for (const [name, definition] of Object.entries(part.definitions)) {
      if (Object.hasOwn(definitions, name) && !(yield* sameInSteps(definitions[name], definition, sameContent)))
        names.set(name, yield* otherName(name, definition, definitions));
      yield;
    }
    for (const [name, definition] of Object.entries(part.definitions)) {
      setProperty(definitions, names.get(name) ?? name, yield* renamed(definition, names));
      yield;
    }
    for (const [path, item] of Object.entries(part.paths)) {
      if (!Object.hasOwn(paths, path)) setProperty(paths, path, yield* renamed(item, names));
      yield;
    }
  }
  return {...document, paths, definitions};
};

const methods = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch']);

const listAt = (object: PlainObject, key: string): readonly PlainObject[] => {
  const value = ownField(object, key);
  return Array.isArray(value) ? value.filter(isPlainObject) : [];
};

const mediaTypes = (object: PlainObject, key: string): readonly string[] => {
  const value = ownField(object, key);
  return Array.isArray(value) && value.length > 0 ? value.map(String) : ['*/*'];
};

const contentOf = (schema: unknown, types: readonly string[]): PlainObject => ({
  content: Object.fromEntries(types.map(type => [type, {schema}])),
});

const about = ['name', 'in', 'description', 'required'];

const parameterThree = (parameter: PlainObject): PlainObject => {
  const schema: PlainObject = {};
  const rest: PlainObject = {};
  for (const key of Object.keys(parameter)) setProperty(about.includes(key) || key.startsWith('x-') ? rest : schema, key, parameter[key]);
  return {...rest, schema};
};

const operationThree = (operation: PlainObject): PlainObject => {
  const {consumes: _, produces: __, schemes: ___, parameters: ____, responses, ...rest} = operation;
  const parameters = listAt(operation, 'parameters');
  const body = parameters.find(({in: place}) => place === 'body');
  const others = parameters.filter(({in: place}) => place !== 'body');
  const answers = Object.entries(isPlainObject(responses) ? responses : {}).filter((pair): pair is [string, PlainObject] =>
    isPlainObject(pair[1]),
  );
  return {
    ...rest,
    ...(others.length > 0 ? {parameters: others.map(parameterThree)} : {}),
    ...(body
      ? {
          requestBody: {
            ...contentOf(ownField(body, 'schema'), mediaTypes(operation, 'consumes')),
            ...(body['required'] ? {required: true} : {}),
          },
        }
      : {}),
    responses: Object.fromEntries(
      answers.map(([code, {schema, ...answer}]) => [
        code,
        {...answer, ...(schema === undefined ? {} : contentOf(schema, mediaTypes(operation, 'produces')))},
      ]),
    ),
  };
};

const pathThree = (item: unknown): unknown =>
  isPlainObject(item)
    ? Object.fromEntries(
        Object.entries(item).map(([key, value]) => {
          if (key === 'parameters') return [key, listAt(item, key).map(parameterThree)];
          return [key, methods.has(key) && isPlainObject(value) ? operationThree(value) : value];
        }),
      )
    : item;

/** Converts an OpenAPI 2.0 document to OpenAPI 3.0. What only 3.0 can express was lost in 2.0. */
export const convertToV3 = function* (document: PlainObject, {paths, definitions}: DocumentPart): Steps<PlainObject> {
  const components = {schemas: definitions, ...(document['securityDefinitions'] ? {securitySchemes: document['securityDefinitions']} : {})};
  const pathsThree: PlainObject = {};
  for (const [path, item] of Object.entries(paths)) {
    setProperty(pathsThree, path, pathThree(item));
    yield;
  }
  const converted = {openapi: '3.0.0', info: ownField(document, 'info') ?? {}, paths: pathsThree, components};
  return (yield* mappedInSteps(converted, object => {
    const name = referenceOf(object, definitionPrefix);
    return name === undefined ? object : {...object, $ref: `#/components/schemas/${name}`};
  })) as PlainObject;
};
