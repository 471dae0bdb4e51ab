import {applyMediaType} from '#src/schema/apply/apply.js';
import type {Naming} from '#src/api/naming.js';
import {patchMediaTypes} from '#src/schema/patch/patch.js';
import type {Definitions} from './definitions.js';
import {extension, type Json} from './names.js';
import type {ResponseType, Operation, Path} from './operation.js';
import {sortedParameters, type Parameter} from './parameters.js';

// Writes operations and paths in either OpenAPI version.

/** The media types of operations. */
export interface MediaTypes {
  /** Media types of objects, in the order they are listed. */
  readonly objects: readonly string[];
  /** Media types of patches. */
  readonly patches: readonly string[];
}

/** Returns all media types of built-in kinds; with CBOR if its gate is on. */
export const mediaTypes = ({protobufMediaType}: Naming, cbor: boolean): MediaTypes => ({
  objects: [...(cbor ? ['application/cbor'] : []), 'application/json', protobufMediaType, 'application/yaml'],
  patches: [...(cbor ? ['application/apply-patch+cbor'] : []), applyMediaType, ...Object.values(patchMediaTypes)],
});

const answers: Readonly<Record<string, string>> = {200: 'OK', 201: 'Created', 202: 'Accepted'};

const streamOf = (type: string): string[] => {
  if (type.endsWith('/yaml')) return [];
  return [type.endsWith('/cbor') ? `${type}-seq` : `${type};stream=watch`];
};

const typesOf = ({objects}: MediaTypes, {streams, plain, responseFormat, media}: Operation): string[] => {
  if (media) return [...media.answers];
  if (responseFormat) return responseFormat === 'any' ? ['*/*'] : ['text/plain', ...objects];
  const known = plain ? objects.filter(type => !type.endsWith('/cbor')) : objects;
  return streams ? [...known, ...known.flatMap(streamOf)] : [...known];
};

const schemaOf = (definitions: Definitions, response: ResponseType): Json =>
  response === 'text' ? {type: 'string'} : definitions.ref(response);

const marks = (naming: Naming, {action, kind}: Operation): Json => ({
  ...(action ? extension(naming, 'action', action) : {}),
  ...(kind ? extension(naming, 'group-version-kind', {group: naming.group(kind.group), kind: kind.kind, version: kind.version}) : {}),
});

/** Moves parameters that all operations of a path share up to the path. */
const split = ({parameters, operations}: Path): {shared: Parameter[]; own(operation: Operation): Parameter[]} => {
  const common = (operations[0]?.parameters ?? []).filter(parameter =>
    operations.every(operation => operation.parameters.includes(parameter)),
  );
  return {
    shared: sortedParameters([...parameters, ...common]),
    own: operation => sortedParameters(operation.parameters.filter(parameter => !common.includes(parameter))),
  };
};

const parameterV3 = ({name, in: place, type, description}: Parameter): Json => ({
  description,
  in: place,
  name,
  ...(place === 'path' ? {required: true} : {}),
  schema: {type, uniqueItems: true},
});

const contentV3 = (types: readonly string[], schema: Json): Json => Object.fromEntries(types.map(type => [type, {schema}]));

const operationV3 = (
  naming: Naming,
  definitions: Definitions,
  media: MediaTypes,
  operation: Operation,
  parameters: readonly Parameter[],
): Json => {
  const types = typesOf(media, operation);
  const responses = Object.entries(operation.responses).map(([code, type]) => [
    code,
    {description: answers[code], content: contentV3(types, schemaOf(definitions, type))},
  ]);
  const {body} = operation;
  const bodyTypes = operation.media?.reads ?? (body?.isPatch ? media.patches : ['*/*']);
  return {
    description: operation.description,
    operationId: operation.id,
    ...(parameters.length > 0 ? {parameters: parameters.map(parameterV3)} : {}),
    ...(body ? {requestBody: {content: contentV3(bodyTypes, definitions.ref(body.type)), ...(body.required ? {required: true} : {})}} : {}),
    responses: {...Object.fromEntries(responses), 401: {description: 'Unauthorized'}},
    tags: [operation.tag],
    ...marks(naming, operation),
  };
};

/** Writes a path in OpenAPI 3.0. */
export const pathV3 = (naming: Naming, definitions: Definitions, media: MediaTypes, path: Path): Json => {
  const {shared, own} = split(path);
  return {
    ...Object.fromEntries(
      path.operations.map(operation => [operation.method, operationV3(naming, definitions, media, operation, own(operation))]),
    ),
    ...(shared.length > 0 ? {parameters: shared.map(parameterV3)} : {}),
  };
};

const parameterV2 = ({name, in: place, type, description}: Parameter): Json => ({
  description,
  in: place,
  name,
  ...(place === 'path' ? {required: true} : {}),
  type,
  uniqueItems: true,
});

const operationV2 = (
  naming: Naming,
  definitions: Definitions,
  media: MediaTypes,
  operation: Operation,
  parameters: readonly Parameter[],
): Json => {
  const {body} = operation;
  const bodyParameter = body
    ? [{in: 'body', name: 'body', ...(body.required ? {required: true} : {}), schema: definitions.ref(body.type)}]
    : [];
  const all = [...bodyParameter, ...parameters.map(parameterV2)];
  const responses = Object.entries(operation.responses).map(([code, type]) => [
    code,
    {description: answers[code], schema: schemaOf(definitions, type)},
  ]);
  return {
    consumes: operation.media?.reads ?? (body?.isPatch ? media.patches : ['*/*']),
    description: operation.description,
    operationId: operation.id,
    ...(all.length > 0 ? {parameters: all} : {}),
    produces: typesOf(media, operation),
    responses: {...Object.fromEntries(responses), 401: {description: 'Unauthorized'}},
    schemes: ['https'],
    tags: [operation.tag],
    ...marks(naming, operation),
  };
};

/** Writes a path in OpenAPI 2.0. */
export const pathV2 = (naming: Naming, definitions: Definitions, media: MediaTypes, path: Path): Json => {
  const {shared, own} = split(path);
  return {
    ...Object.fromEntries(
      path.operations.map(operation => [operation.method, operationV2(naming, definitions, media, operation, own(operation))]),
    ),
    ...(shared.length > 0 ? {parameters: shared.map(parameterV2)} : {}),
  };
};
