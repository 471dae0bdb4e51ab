import type {ApiResponse} from '#src/api/request.js';
import {invalid, invalidObject, notSupported, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {forbidden, isNotFound, success} from '#src/api/status.js';
import {spanEvent} from '#src/base/span.js';
import type {DeleteOptions} from '#src/api/types.js';
import {deleteUnreadable, unsafeDeletionField} from '#src/apiserver/registry/write/delete-unreadable.js';
import {deleteObject, type Deleted} from '#src/apiserver/registry/write/delete.js';
import {listObjects} from '#src/apiserver/registry/read/list.js';
import {filterOf} from '#src/apiserver/registry/read/filter.js';
import {dryRunErrors, parseListOptions, integerParameter} from '#src/apiserver/registry/options.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import {readDeleteOptions} from '#src/apiserver/request/body.js';
import {cancellationCheck, type ResourceContext} from '#src/apiserver/request/context.js';
import {attributesOf, truthy} from '#src/apiserver/request/request-info.js';
import {noteValue} from './audited.js';
import {encoded} from './encode.js';
import {listResponse} from './list-pages.js';
import {acceptedShape, isPretty, objectResponse, representationFor, statusKind, writeContext, type ResourceServices} from './resource.js';

/** Reads the options of a deletion from the body, or from the query without a body, and validates them. */
const deleteOptions = async ({resource}: ServedResource, context: ResourceContext): Promise<DeleteOptions> => {
  const {naming, schemas, cbor, yaml} = resource.settings;
  const sent = await readDeleteOptions(context.request, {naming, schemas, cbor, yaml, flow: context.user.name});
  if (sent) noteValue(context.notes, {kind: 'DeleteOptions', apiVersion: naming.apiVersion('meta', 'v1'), ...sent});
  const {[unsafeDeletionField]: isUnsafe, ...safe} = sent ?? fromQuery(context.info.query);
  const options = isUnsafe && resource.settings.gate('AllowUnsafeMalformedObjectDeletion') ? {...safe, [unsafeDeletionField]: true} : safe;
  const errors = collectErrors(problems(options));
  if (errors.length > 0) throw invalidObject({group: naming.group('meta'), kind: 'DeleteOptions'}, '', errors);
  const {missingPropagationWarning} = resource.definition.deletion ?? {};
  if (missingPropagationWarning && options.propagationPolicy === undefined && options.orphanDependents === undefined)
    context.warnings.add(missingPropagationWarning);
  return options;
};

const fromQuery = (query: URLSearchParams): DeleteOptions => {
  const grace = integerParameter(query, 'gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  return {
    ...(query.has('dryRun') ? {dryRun: query.getAll('dryRun')} : {}),
    ...(grace === undefined ? {} : {gracePeriodSeconds: grace}),
    ...(query.has('orphanDependents') ? {orphanDependents: truthy(query.get('orphanDependents'))} : {}),
    ...(policy === null ? {} : {propagationPolicy: policy}),
    ...(query.has(unsafeDeletionField) ? {[unsafeDeletionField]: truthy(query.get(unsafeDeletionField))} : {}),
  };
};

const policies = ['Foreground', 'Background', 'Orphan'];

function* problems(options: DeleteOptions): Generator<FieldError> {
  const {orphanDependents, propagationPolicy, dryRun} = options;
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    yield invalid('propagationPolicy', propagationPolicy, 'orphanDependents and deletionPropagation cannot be both set');
  }
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy))
    yield notSupported('propagationPolicy', propagationPolicy, [...policies, 'nil']);
  yield* dryRunErrors(dryRun ?? []);
  if (!options[unsafeDeletionField]) return;
  for (const other of ['dryRun', 'propagationPolicy', 'orphanDependents', 'gracePeriodSeconds', 'preconditions'] as const)
    if (other === 'dryRun' ? dryRun?.length : options[other] !== undefined)
      yield invalid(unsafeDeletionField, true, `cannot be set together with .${other}`);
}

const unsafeVerb = 'unsafe-delete-ignore-read-errors';

/** Removes an object that cannot be read, for a user that has the verb for it. */
const removeUnreadable = async (
  {authorizer}: Pick<ResourceServices, 'authorizer'>,
  served: ServedResource,
  context: ResourceContext,
  options: DeleteOptions,
): Promise<ApiResponse> => {
  const {resource, kind} = served;
  const {namespace, name} = context.target;
  const decision = await authorizer.authorize(attributesOf(context.user, {...context.info, verb: unsafeVerb}));
  if (decision.decision !== 'allow')
    throw forbidden(resource.refIn(kind), name, `not permitted to do ${JSON.stringify(unsafeVerb)}, reason: ${decision.reason ?? ''}`);
  await deleteUnreadable(resource, namespace, name, options, writeContext(context, served, false));
  const status = success({name, kind: kind.kind});
  const body = encoded(acceptedShape(context, 'item', statusKind(resource.settings)), () => status, isPretty(context));
  return {status: 200, headers: {}, body, outcome: status};
};

/** DELETE of one object. */
export const remove = async (
  services: Pick<ResourceServices, 'authorizer'>,
  served: ServedResource,
  context: ResourceContext,
): Promise<ApiResponse> => {
  const {resource} = served;
  const {namespace, name} = context.target;
  const shown = representationFor(context, served, 'item');
  const options = await deleteOptions(served, context);
  if (options[unsafeDeletionField]) return removeUnreadable(services, served, context, options);
  spanEvent('About to delete object from database');
  const deleted = await deleteObject(resource, namespace, name, options, writeContext(context, served, Boolean(options.dryRun?.length)));
  spanEvent('Object deleted from database');
  const status = !deleted.removed && options.orphanDependents === false ? 202 : 200;
  const responseForm = resource.definition.deletion?.response ?? 'status';
  if (responseForm === 'statusAlways') return statusResponse(served, context, deleted, deleted.removed ? 200 : 202);
  if (deleted.removed && responseForm === 'status') return statusResponse(served, context, deleted, 200);
  return objectResponse(context, shown, deleted.object, status);
};

const statusResponse = ({resource, kind}: ServedResource, context: ResourceContext, {object}: Deleted, code: number): ApiResponse => {
  const {settings} = resource;
  const {group, resource: plural} = resource.refIn(kind);
  const status = success({name: object.metadata!.name!, ...(group ? {group} : {}), kind: plural, uid: object.metadata!.uid!});
  return {
    status: code,
    headers: {},
    body: encoded(acceptedShape(context, 'item', statusKind(settings)), () => status, isPretty(context)),
    outcome: status,
  };
};

/** DELETE of a collection: each object separately; those already deleted are skipped. */
export const removeCollection = async (served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {resource} = served;
  const {settings} = resource;
  const shown = representationFor(context, served, 'list');
  const selection = parseListOptions(settings, context.info.query, false);
  const filter = filterOf(served, selection);
  const options = await deleteOptions(served, context);
  if (options[unsafeDeletionField])
    throw invalidObject({group: settings.naming.group('meta'), kind: 'DeleteOptions'}, '', [
      invalid(unsafeDeletionField, true, 'is not allowed with DELETECOLLECTION, try again after removing the option'),
    ]);
  const write = {...writeContext(context, served, Boolean(options.dryRun?.length)), ofCollection: true};
  const listed = await listObjects(resource, context.target.namespace, {
    filter,
    options: selection,
    needsParsing: true,
    check: cancellationCheck(context, settings.clock),
  });
  for await (const records of listed.chunks()) {
    await inParallel(settings.deleteCollectionWorkers, records, async record => {
      const {namespace, name} = resource.parseKey(record.key);
      try {
        await deleteObject(resource, namespace, name, options, write);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    });
  }
  if (resource.definition.deletion?.response === 'statusAlways') {
    const outcome = success();
    return {
      status: 200,
      headers: {},
      body: encoded(acceptedShape(context, 'list', statusKind(settings)), () => outcome, isPretty(context)),
      outcome,
    };
  }
  // A deleted object is still returned as of the list's revision.
  return listResponse({
    resource,
    shown,
    listed,
    meta: {resourceVersion: String(listed.revision)},
    pretty: isPretty(context),
    takesObjects: context.request.inProcess === true,
  });
};

const inParallel = async <T>(workers: number, items: readonly T[], run: (item: T) => Promise<void>): Promise<void> => {
  const queue = items.values();
  const work = async () => {
    for (const item of queue) await run(item);
  };
  await Promise.all(Array.from({length: Math.min(Math.max(1, workers), items.length)}, work));
};
