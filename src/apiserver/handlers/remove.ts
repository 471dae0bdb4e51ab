import type {ApiResponse} from '#src/api/request.js';
import {invalid, invalidObject, notSupported, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {isNotFound, success} from '#src/api/status.js';
import type {DeleteOptions} from '#src/api/types.js';
import {deleteObject, type Deleted} from '#src/apiserver/registry/write/delete.js';
import {listObjects} from '#src/apiserver/registry/read/list.js';
import {filterOf} from '#src/apiserver/registry/read/filter.js';
import {dryRunErrors, parseListOptions, integerParameter} from '#src/apiserver/registry/options.js';
import type {ServedResource} from '#src/apiserver/registry/registry.js';
import {readDeleteOptions} from '#src/apiserver/request/body.js';
import {cancellationCheck, type ResourceContext} from '#src/apiserver/request/context.js';
import {truthy} from '#src/apiserver/request/request-info.js';
import {noteValue} from './audited.js';
import {encoded} from './encode.js';
import {listResponse} from './list-pages.js';
import {acceptedShape, isPretty, objectResponse, representationFor, statusKind, writeContext} from './resource.js';

/** Reads the options of a deletion from the body, or from the query without a body, and validates them. */
const deleteOptions = async ({resource}: ServedResource, context: ResourceContext): Promise<DeleteOptions> => {
  const {naming} = resource.settings;
  const sent = await readDeleteOptions(context.request, resource.settings);
  if (sent) noteValue(context.notes, {kind: 'DeleteOptions', apiVersion: naming.apiVersion('meta', 'v1'), ...sent});
  const options = sent ?? fromQuery(context.info.query);
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
  };
};

const policies = ['Foreground', 'Background', 'Orphan'];

function* problems({orphanDependents, propagationPolicy, dryRun}: DeleteOptions): Generator<FieldError> {
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    yield invalid('propagationPolicy', propagationPolicy, 'orphanDependents and deletionPropagation cannot be both set');
  }
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy))
    yield notSupported('propagationPolicy', propagationPolicy, [...policies, 'nil']);
  yield* dryRunErrors(dryRun ?? []);
}

/** DELETE of one object. */
export const remove = async (served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {resource} = served;
  const {namespace, name} = context.target;
  const shown = representationFor(context, served, 'item');
  const options = await deleteOptions(served, context);
  const deleted = await deleteObject(resource, namespace, name, options, writeContext(context, served, Boolean(options.dryRun?.length)));
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
  const write = {...writeContext(context, served, Boolean(options.dryRun?.length)), ofCollection: true};
  const listed = await listObjects(resource, context.target.namespace, {
    filter,
    options: selection,
    needsParsing: true,
    check: cancellationCheck(context, settings.clock),
  });
  const first = [...listed.first];
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
    listed: listed.isComplete ? {...listed, first} : listed,
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
