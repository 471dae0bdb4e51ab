import type {Kind} from '#src/api/kinds/index.js';
import type {ApiResponse} from '#src/api/request.js';
import {invalidObject} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {badRequest, StatusError, type Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Action, ActionContext} from '#src/resources/definition.js';
import {partialMetadata} from '#src/apiserver/present/table.js';
import {fillAlwaysPresent} from '#src/apiserver/registry/always-present.js';
import {namespaceMismatch, requestAttributes} from '#src/apiserver/registry/address.js';
import {recordUnstored} from '#src/apiserver/registry/write/field-ownership.js';
import {registryWriter} from '#src/apiserver/registry/write/writer.js';
import {readObject} from '#src/apiserver/request/body.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import {checkStored} from '#src/apiserver/request/large.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';
import type {Resource, ServedResource} from '#src/apiserver/registry/resource.js';
import {zeroValue} from '#src/schema/decode/zero-value.js';
import {parseWriteQuery, type WriteQuery} from '#src/apiserver/registry/options.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import {noteSent} from './audited.js';
import {encoded} from './encode.js';
import {acceptedShape, isPretty, writeContext, type ResourceServices} from './resource.js';

interface Asked {
  readonly served: ServedResource;
  readonly context: ResourceContext;
  readonly action: Action;
}

/** The shape of the response that the client accepts. */
const acceptedOf = ({served, context, action: {kind}}: Asked): Accepted => {
  const {naming, cbor} = served.resource.settings;
  return acceptedShape(context, 'outcome', {
    naming,
    cbor,
    apiVersion: naming.apiVersion(kind.group, kind.version),
    kind: kind.kind,
    package: naming.packageOf(kind.group),
  });
};

/** Reads the body as the action's kind, in the namespace of the address. */
const readSent = async ({served, context, action}: Asked, fieldValidation: WriteQuery['fieldValidation']): Promise<KubeObject> => {
  const {definition, settings} = served.resource;
  const {naming, schemas, cbor, yaml} = settings;
  const {namespace} = context.target;
  const object = await readObject({
    request: context.request,
    naming,
    schemas,
    cbor,
    yaml,
    flow: context.user.name,
    kind: action.kind,
    otherVersions: action.otherVersions,
    fieldValidation,
    warn: text => context.warnings.add(text),
  });
  noteSent(context.notes, object);
  if (action.kind.namespaced && object.metadata?.namespace && object.metadata.namespace !== namespace) throw badRequest(namespaceMismatch);
  if (action.kind.namespaced) (object.metadata ??= {}).namespace = namespace;
  else if (definition.review) delete object.metadata?.namespace;
  action.default?.(object);
  return object;
};

/** What the action may use. */
const actionContextOf = (services: ResourceServices, {served, context}: Asked, writing: WriteContext): ActionContext => {
  const {namespace, name} = context.target;
  return {
    ...served.resource.hooks(context.user),
    authorizer: services.authorizer,
    authenticateToken: services.authenticateToken,
    rulesFor: services.rulesFor,
    reader: services.reader,
    writer: registryWriter(services.registry, writing),
    tokens: services.tokens,
    namespace,
    name,
    dryRun: writing.dryRun,
    warn: (text: string) => void context.warnings.add(text),
  };
};

/** Throws if the object is invalid. A refused review is reported without kind and name. */
const checkSent = ({served, action}: Asked, object: KubeObject, actionContext: ActionContext): void => {
  const errors = collectErrors(action.validate?.(object, actionContext) ?? []);
  if (errors.length === 0) return;
  const {definition, settings} = served.resource;
  const [kind, name] = definition.review ? ['', ''] : [action.kind.kind, object.metadata?.name ?? ''];
  throw invalidObject({group: settings.naming.group(action.kind.group), kind}, name, errors);
};

/** Adds what objects of a built-in kind always show, as admission sees them. Nobody owns it. */
const fillZeros = ({settings: {schemas}}: Resource, {group, version, kind}: Kind, object: KubeObject): void => {
  const node = schemas.of(group, version, kind);
  if (node) fillAlwaysPresent(object, zeroValue(node));
};

/** Runs the action of a POST that does not store its body, and responds with its result. */
export const runAction = async (
  services: ResourceServices,
  served: ServedResource,
  context: ResourceContext,
  action: Action,
): Promise<ApiResponse> => {
  const {resource} = served;
  const {naming, store, writes} = resource.settings;
  const asked: Asked = {served, context, action};
  const accepted = acceptedOf(asked);
  const query = parseWriteQuery(naming, context.info.query, 'CreateOptions');
  const {namespace, name, subresource} = context.target;
  if (subresource && context.mayMove) {
    const record = await store.get(resource.key(namespace, name));
    if (record) checkStored(context, record.value);
  }
  const object = await readSent(asked, query.fieldValidation);
  const writing = writeContext(context, served, query.dryRun);
  recordUnstored(resource, action.kind, object, subresource, writing);
  fillZeros(resource, action.kind, object);
  const attributes = requestAttributes(resource, writing, {
    operation: 'CREATE',
    kind: action.kind.kind,
    subresource,
    namespace,
    name: name || (object.metadata?.name ?? ''),
    object,
  });
  await writes.admission.run('admit', attributes);
  const actionContext = actionContextOf(services, asked, writing);
  checkSent(asked, object, actionContext);
  const prepared = await action.prepare?.(object, actionContext);
  await writes.admission.run('validate', attributes);
  const {
    kind = action.kind.kind,
    apiVersion = naming.apiVersion(action.kind.group, action.kind.version),
    ...outcome
  } = await action.run(object, actionContext, prepared);
  return responseOf(accepted, {kind, apiVersion, ...outcome}, isPretty(context));
};

/** Throws for a Status that is not a success: it is an error like any other. */
const responseOf = (accepted: Accepted, result: KubeObject, pretty: boolean): ApiResponse => {
  const status = result.kind === 'Status' ? (result as unknown as Status) : undefined;
  if (status && status.status !== 'Success') throw new StatusError(status);
  return {status: 201, headers: {}, body: encoded(accepted, () => shaped(accepted, result), pretty), outcome: status};
};

/** The result in the requested shape; a Status has one shape. */
const shaped = ({shape, shapeVersion}: Accepted, outcome: KubeObject): unknown =>
  shape === 'PartialObjectMetadata' && outcome.kind !== 'Status' ? partialMetadata(shapeVersion, outcome) : outcome;
