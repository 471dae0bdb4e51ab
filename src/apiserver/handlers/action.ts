import type {ApiResponse} from '#src/api/request.js';
import {invalidObject} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {badRequest, StatusError, type Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Action} from '#src/resources/definition.js';
import {partialMetadata} from '#src/apiserver/present/table.js';
import {namespaceMismatch, requestAttributes} from '#src/apiserver/registry/address.js';
import {recordUnstored} from '#src/apiserver/registry/write/field-ownership.js';
import {registryWriter} from '#src/apiserver/registry/write/writer.js';
import {readObject} from '#src/apiserver/request/body.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import {checkStored} from '#src/apiserver/request/large.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import {parseWriteQuery} from '#src/apiserver/registry/options.js';
import {noteSent} from './audited.js';
import {encoded} from './encode.js';
import {acceptedShape, isPretty, writeContext, type ResourceServices} from './resource.js';

/** Runs the action of a POST that does not store its body, and responds with its result. */
export const runAction = async (
  services: ResourceServices,
  served: ServedResource,
  context: ResourceContext,
  action: Action,
): Promise<ApiResponse> => {
  const {resource} = served;
  const {definition} = resource;
  const {naming, schemas, cbor, yaml} = resource.settings;
  const accepted = acceptedShape(context, 'outcome', {
    naming,
    cbor,
    apiVersion: naming.apiVersion(action.kind.group, action.kind.version),
    kind: action.kind.kind,
    package: naming.packageOf(action.kind.group),
  });
  const query = parseWriteQuery(naming, context.info.query, 'CreateOptions');
  const {namespace, name, subresource} = context.target;
  if (subresource && context.mayMove) {
    const record = await resource.settings.store.get(resource.key(namespace, name));
    if (record) checkStored(context, record.value);
  }
  const object = await readObject({
    request: context.request,
    naming,
    schemas,
    cbor,
    yaml: yaml.of(context.user.name),
    kind: action.kind,
    otherVersions: action.otherVersions,
    fieldValidation: query.fieldValidation,
    warn: text => context.warnings.add(text),
  });
  noteSent(context.notes, object);
  if (action.kind.namespaced && object.metadata?.namespace && object.metadata.namespace !== namespace) {
    throw badRequest(namespaceMismatch);
  }
  if (action.kind.namespaced) (object.metadata ??= {}).namespace = namespace;
  else if (definition.review) delete object.metadata?.namespace;
  action.default?.(object);
  const writing = writeContext(context, served, query.dryRun);
  recordUnstored(resource, action.kind, object, subresource, writing);
  const attributes = requestAttributes(resource, writing, {
    operation: 'CREATE',
    kind: action.kind.kind,
    subresource,
    namespace,
    name: name || (object.metadata?.name ?? ''),
    object,
  });
  await resource.settings.writes.admission.run('admit', attributes);
  const actionContext = {
    ...resource.hooks(context.user),
    authorizer: services.authorizer,
    authenticateToken: services.authenticateToken,
    rulesFor: services.rulesFor,
    reader: services.reader,
    writer: registryWriter(services.registry, writing),
    tokens: services.tokens,
    namespace,
    name,
    dryRun: query.dryRun,
    warn: (text: string) => void context.warnings.add(text),
  };
  const errors = collectErrors(action.validate?.(object, actionContext) ?? []);
  // A refused review is reported without kind and name.
  const [kindName, refused] = definition.review ? ['', ''] : [action.kind.kind, object.metadata?.name ?? ''];
  if (errors.length > 0) throw invalidObject({group: naming.group(action.kind.group), kind: kindName}, refused, errors);
  await resource.settings.writes.admission.run('validate', attributes);
  const {
    kind = action.kind.kind,
    apiVersion = naming.apiVersion(action.kind.group, action.kind.version),
    ...outcome
  } = await action.run(object, actionContext);
  const response = {kind, apiVersion, ...outcome};
  return responseOf(accepted, response, isPretty(context));
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
