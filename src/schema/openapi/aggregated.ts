import {sameContent} from '#src/api/equal.js';
import {isPlainObject, own, put, type PlainObject} from '#src/schema/decode/plain.js';

// Merges OpenAPI documents of aggregated API servers into ours. Works on parsed JSON; definitions with conflicting names are renamed.

/** Some paths of another server's document, with the definitions they need. */
export interface DocumentPart {
  readonly paths: PlainObject;
  readonly definitions: PlainObject;
}

const definitionPrefix = '#/definitions/';
const parameterPrefix = '#/parameters/';

const objectAt = (document: PlainObject, key: string): PlainObject => {
  const value = own(document, key);
  return isPlainObject(value) ? value : {};
};

/** Returns a copy in which `change` may replace each object. */
const mapped = (value: unknown, change: (object: PlainObject) => unknown): unknown => {
  if (Array.isArray(value)) return value.map(item => mapped(item, change));
  if (!isPlainObject(value)) return value;
  const changed = change(value);
  if (!isPlainObject(changed)) return changed;
  const copy: PlainObject = {};
  for (const key of Object.keys(changed)) put(copy, key, mapped(changed[key], change));
  return copy;
};

const referenceOf = (object: PlainObject, prefix: string): string | undefined => {
  const reference = own(object, '$ref');
  return typeof reference === 'string' && reference.startsWith(prefix) ? reference.slice(prefix.length) : undefined;
};

/** Inlines the shared parameters into each operation. */
const withOwnParameters = (paths: unknown, shared: PlainObject): unknown =>
  mapped(paths, object => {
    const name = referenceOf(object, parameterPrefix);
    return name === undefined ? object : (own(shared, name) ?? object);
  });

const needed = (value: unknown, definitions: PlainObject): PlainObject => {
  const found: PlainObject = {};
  const look = (part: unknown): void => {
    mapped(part, object => {
      const name = referenceOf(object, definitionPrefix);
      if (name !== undefined && !Object.hasOwn(found, name) && Object.hasOwn(definitions, name)) {
        put(found, name, definitions[name]);
        look(definitions[name]);
      }
      return object;
    });
  };
  look(value);
  return found;
};

/** Returns the part of an OpenAPI 2.0 document with the paths below a prefix. */
export const pathsUnder = (document: PlainObject, prefix: string): DocumentPart => {
  const below = Object.fromEntries(Object.entries(objectAt(document, 'paths')).filter(([path]) => path.startsWith(prefix)));
  const paths = withOwnParameters(below, objectAt(document, 'parameters')) as PlainObject;
  return {paths, definitions: needed(paths, objectAt(document, 'definitions'))};
};

const renamed = <T>(value: T, names: ReadonlyMap<string, string>): T =>
  mapped(value, object => {
    const name = referenceOf(object, definitionPrefix);
    const other = name === undefined ? undefined : names.get(name);
    return other === undefined ? object : {...object, $ref: `${definitionPrefix}${other}`};
  }) as T;

/** Returns `name_v2`, or the first following name that is free or has the same definition. */
const otherName = (name: string, definition: unknown, taken: PlainObject): string => {
  for (let count = 2; ; count++) {
    const candidate = `${name}_v${count}`;
    if (!Object.hasOwn(taken, candidate) || sameContent(taken[candidate], definition)) return candidate;
  }
};

/** Adds parts of other documents to an OpenAPI 2.0 document: existing paths stay, and conflicting definitions are renamed. */
export const mergeParts = (document: PlainObject, parts: readonly DocumentPart[]): PlainObject => {
  const paths = {...objectAt(document, 'paths')};
  const definitions = {...objectAt(document, 'definitions')};
  for (const part of parts) {
    const conflicts = Object.keys(part.definitions).filter(
      name => Object.hasOwn(definitions, name) && !sameContent(definitions[name], part.definitions[name]),
    );
    const names = new Map(conflicts.map(name => [name, otherName(name, part.definitions[name], definitions)]));
    for (const [name, definition] of Object.entries(part.definitions))
      put(definitions, names.get(name) ?? name, renamed(definition, names));
    for (const [path, item] of Object.entries(part.paths)) if (!Object.hasOwn(paths, path)) put(paths, path, renamed(item, names));
  }
  return {...document, paths, definitions};
};

const methods = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch']);

const listAt = (object: PlainObject, key: string): readonly PlainObject[] => {
  const value = own(object, key);
  return Array.isArray(value) ? value.filter(isPlainObject) : [];
};

const mediaTypes = (object: PlainObject, key: string): readonly string[] => {
  const value = own(object, key);
  return Array.isArray(value) && value.length > 0 ? value.map(String) : ['*/*'];
};

const contentOf = (schema: unknown, types: readonly string[]): PlainObject => ({
  content: Object.fromEntries(types.map(type => [type, {schema}])),
});

const about = ['name', 'in', 'description', 'required'];

const parameterThree = (parameter: PlainObject): PlainObject => {
  const schema: PlainObject = {};
  const rest: PlainObject = {};
  for (const key of Object.keys(parameter)) put(about.includes(key) || key.startsWith('x-') ? rest : schema, key, parameter[key]);
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
      ? {requestBody: {...contentOf(own(body, 'schema'), mediaTypes(operation, 'consumes')), ...(body['required'] ? {required: true} : {})}}
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
export const convertToV3 = (document: PlainObject, {paths, definitions}: DocumentPart): PlainObject => {
  const components = {schemas: definitions, ...(document['securityDefinitions'] ? {securitySchemes: document['securityDefinitions']} : {})};
  const converted = {
    openapi: '3.0.0',
    info: own(document, 'info') ?? {},
    paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, pathThree(item)])),
    components,
  };
  return mapped(converted, object => {
    const name = referenceOf(object, definitionPrefix);
    return name === undefined ? object : {...object, $ref: `#/components/schemas/${name}`};
  }) as PlainObject;
};
