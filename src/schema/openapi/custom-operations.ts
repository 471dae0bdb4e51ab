import type {Kind} from '#src/api/kinds/index.js';
import type {TypeRef} from '#src/schema/node.js';
import {capitalised} from './names.js';
import {listOf, meta, typeOf, type Operation, type Path, type ResourceLocation} from './operation.js';
import {
  deleteParameters,
  getParameters,
  listParameters,
  nameParameter,
  namespaceParameter,
  patchParameters,
  pretty,
  writeParameters,
  type Parameter,
} from './parameters.js';

/** The media types of custom resources in requests and responses. */
const mediaTypes = ['application/json', 'application/yaml'];
const patches = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];

interface OperationTemplate {
  readonly method: Operation['method'];
  readonly verb: string;
  readonly action: string;
  readonly parameters: readonly Parameter[];
  readonly body?: TypeRef;
  readonly needsBody?: boolean;
  readonly responses: Operation['responses'];
}

/** Returns the operations on one object, or on a subresource whose kind is `type`. */
const objectOperations = (type: TypeRef): Readonly<Record<string, OperationTemplate>> => ({
  get: {method: 'get', verb: 'read', action: 'get', parameters: getParameters, responses: {200: type}},
  update: {method: 'put', verb: 'replace', action: 'put', parameters: writeParameters, body: type, responses: {200: type, 201: type}},
  patch: {method: 'patch', verb: 'patch', action: 'patch', parameters: patchParameters, body: meta('Patch'), responses: {200: type}},
  delete: {
    method: 'delete',
    verb: 'delete',
    action: 'delete',
    parameters: deleteParameters,
    body: meta('DeleteOptions'),
    needsBody: false,
    responses: {200: meta('Status'), 202: meta('Status')},
  },
});

const collectionOperations = (kind: Kind): Readonly<Record<string, OperationTemplate>> => ({
  list: {method: 'get', verb: 'list', action: 'list', parameters: listParameters, responses: {200: listOf(kind)}},
  create: {
    method: 'post',
    verb: 'create',
    action: 'post',
    parameters: writeParameters,
    body: typeOf(kind),
    responses: {200: typeOf(kind), 201: typeOf(kind), 202: typeOf(kind)},
  },
  deletecollection: {
    method: 'delete',
    verb: 'delete',
    action: 'deletecollection',
    parameters: listParameters,
    responses: {200: meta('Status')},
  },
});

const described = ({verb, action}: OperationTemplate, {resource: {kind}}: ResourceLocation, sub: string): string => {
  if (action === 'list') return `list objects of kind ${kind.kind}`;
  if (action === 'deletecollection') return `delete collection of ${kind.kind}`;
  const part = sub === '' ? '' : `${sub} of `;
  return `${verb === 'patch' ? 'change parts of' : verb} ${part}${action === 'post' ? `an object of kind ${kind.kind}` : `the specified ${kind.kind}`}`;
};

const operation = (place: ResourceLocation, template: OperationTemplate, sub = ''): Operation => {
  const {method, verb, action, parameters, body, needsBody = true, responses} = template;
  const {groupVersionName, scope, tag} = place;
  const {kind} = place.resource;
  return {
    method,
    id: `${verb}${groupVersionName}${action === 'deletecollection' ? 'Collection' : ''}${scope}${kind.kind}${capitalised(sub)}`,
    description: described(template, place, sub),
    tag,
    parameters: [pretty, ...parameters],
    action,
    kind,
    responses,
    media: {reads: method === 'patch' ? patches : mediaTypes, answers: mediaTypes},
    ...(body ? {body: {type: body, required: needsBody, isPatch: method === 'patch'}} : {}),
  };
};

const served = (
  place: ResourceLocation,
  templates: Readonly<Record<string, OperationTemplate>>,
  verbs: readonly string[],
  sub = '',
): Operation[] => Object.entries(templates).flatMap(([verb, one]) => (verbs.includes(verb) ? [operation(place, one, sub)] : []));

/** Returns the paths of a custom resource: watches only through lists, and subresources with get, update and patch. */
export const customPaths = (place: ResourceLocation): Path[] => {
  const {resource, root, collection, groupVersionName} = place;
  const {kind, verbs} = resource;
  const within = kind.namespaced ? [namespaceParameter] : [];
  const everywhere = operation({...place, scope: ''}, collectionOperations(kind)['list']!);
  const paths: Path[] = [
    ...(kind.namespaced && verbs.includes('list')
      ? [
          {
            path: `${root}/${kind.plural}`,
            parameters: [],
            operations: [{...everywhere, id: `list${groupVersionName}${kind.kind}ForAllNamespaces`}],
          },
        ]
      : []),
    {path: collection, parameters: within, operations: served(place, collectionOperations(kind), verbs)},
    {
      path: `${collection}/{name}`,
      parameters: [nameParameter, ...within],
      operations: served(place, objectOperations(typeOf(kind)), verbs),
    },
    ...resource.subresources.map(sub => ({
      path: `${collection}/{name}/${sub.name}`,
      parameters: [nameParameter, ...within],
      operations: served(place, objectOperations(typeOf(sub.kind)), sub.verbs, sub.name),
    })),
  ];
  return paths.filter(({operations}) => operations.length > 0);
};
