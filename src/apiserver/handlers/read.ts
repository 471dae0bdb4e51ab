import {andThen, isPending, settle} from '#src/base/eventually.js';
import type {ApiResponse} from '#src/api/request.js';
import {badRequest} from '#src/api/status.js';
import type {ListMeta} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {spanEvent} from '#src/base/span.js';
import {longRunningLabels} from '#src/apiserver/request/metrics.js';
import {filterOf, type Filter} from '#src/apiserver/registry/read/filter.js';
import {parseListOptions, parseExactVersion, parseResourceVersion, type ListOptions} from '#src/apiserver/registry/options.js';
import {listObjects, scopeOf, waitForRevision, type Listed} from '#src/apiserver/registry/read/list.js';
import {findRecord, objectOf} from '#src/apiserver/registry/read/read.js';
import {listError, objectError} from '#src/apiserver/registry/read/unreadable.js';
import {recordJson} from '#src/apiserver/registry/record.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import type {WatchedObjects} from '#src/apiserver/flowcontrol/watch-counts.js';
import {cancellationCheck, type ResourceContext} from '#src/apiserver/request/context.js';
import type {ResourceTarget} from '#src/apiserver/request/request-info.js';
import {checkStored} from '#src/apiserver/request/large.js';
import {measured, StepTimes} from '#src/apiserver/request/step-times.js';
import {watchObjects} from '#src/apiserver/watch/watch.js';
import {listResponse} from './list-pages.js';
import {isPretty, objectResponse, representationFor, wantedItem, type ResourceServices} from './resource.js';

/** GET of one object, or of a subresource that shows the whole object. */
export const get = (served: ServedResource, context: ResourceContext): ApiResponse | Promise<ApiResponse> => {
  const {resource} = served;
  const {namespace, name} = context.target;
  const shown = representationFor(context, served, wantedItem(served, context));
  const version = context.info.query.get('resourceVersion');
  // Without a watch cache upstream's store refuses the read, since it does not wait for a version.
  const isCached = resource.settings.isCached(resource.ref);
  const requestedRevision = isCached ? parseExactVersion(version) : parseResourceVersion(version);
  if (requestedRevision) return waitForRevision(resource, requestedRevision, {waits: isCached}).then(() => read());
  return read();

  function read(): ApiResponse | Promise<ApiResponse> {
    spanEvent('About to Get from storage');
    const record = find();
    return andThen(isPending(record) ? measured(stepsOf(context, resource.settings.clock), 'storageMs', () => record) : record, respond);
  }

  function find(): ReturnType<typeof findRecord> {
    return settle(
      () => findRecord(served, namespace, name, isCached && version === '0' ? {near: true} : undefined),
      record => record,
      error => {
        throw objectError(resource, error);
      },
    );
  }

  function respond(record: Awaited<ReturnType<typeof findRecord>>): ApiResponse {
    if (!shown.raw || isPretty(context)) {
      checkStored(context, record.value);
      return objectResponse(context, shown, objectOf(resource, record));
    }
    return {
      status: 200,
      headers: {},
      body: {
        kind: 'object',
        contentType: 'application/json',
        bytes: () => recordJson(record.value, record.revision, '', '\n'),
        object: () => objectOf(resource, record),
        inPieces: () => resource.objects.inPieces(record.key, record.value, record.revision, resource.settings.clock),
      },
    };
  }
};

/** GET of a collection. */
export const list = async (served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {resource} = served;
  const shown = representationFor(context, served, 'list');
  const options = parseListOptions(resource.settings, context.info.query, false);
  const filter = filterOf(served, options);
  const pretty = isPretty(context);
  const check = cancellationCheck(context, resource.settings.clock);
  const needsParsing = pretty || !(shown.raw || shown.writeItem);
  const {namespace} = context.target;
  spanEvent('About to List from storage');
  const steps = stepsOf(context, resource.settings.clock);
  const listed = await measured(steps, 'storageMs', () =>
    listObjects(resource, namespace, {filter, options, needsParsing, check, flow: context.user.name}).catch(async (error: unknown) => {
      throw await listError(resource, scopeOf(resource, namespace, filter), error);
    }),
  );
  spanEvent('Listing from storage done');
  return listResponse({resource, shown, listed, meta: metaOf(listed), pretty, takesObjects: context.request.inProcess === true, steps});
};

/** Undefined without an audit event that shows the durations. */
const stepsOf = ({notes, times}: ResourceContext, clock: Pick<Clock, 'monotonic'>): StepTimes | undefined =>
  notes && times && new StepTimes(times, clock);

const metaOf = ({revision, continue: token, remaining}: Listed): ListMeta => ({
  resourceVersion: String(revision),
  ...(token ? {continue: token} : {}),
  ...(remaining === undefined ? {} : {remainingItemCount: remaining}),
});

/** A watch of a collection or of one object. */
export const watch = (services: ResourceServices, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {resource} = served;
  const {namespace, name, item} = context.target;
  const shown = representationFor(context, served, 'watch');
  const options = parseListOptions(resource.settings, context.info.query, true);
  const filter = filterOf(served, options);
  const request = {
    namespace,
    filter: item ? ofOne(filter, options, name) : filter,
    options,
    representation: shown,
    inProcess: context.request.inProcess === true,
    labels: longRunningLabels(context.info),
    watched: watchedObjects(context.target, options),
    initialized: context.initialized,
  };
  return watchObjects(resource, request, services.watch);
};

/**
 * The objects by which a watch is counted. Watches of the pods of one node are found by an index, so that the writes of
 * others do not concern them.
 */
const watchedObjects = ({group, resource, namespace, name}: ResourceTarget, {fields}: ListOptions): WatchedObjects | undefined => {
  const isOfNode =
    resource === 'pods' &&
    fields.requirements.some(({field, operator, value}) => field === 'spec.nodeName' && operator === '=' && value !== '');
  return isOfNode ? undefined : {group, resource, namespace, name};
};

/** The filter of a watch whose path names an object. Throws 400 when its selector selects another name. */
const ofOne = (filter: Filter, {fields}: ListOptions, name: string): Filter => {
  if (!fields.empty && filter.name !== name) throw badRequest("fieldSelector metadata.name doesn't match requested name");
  return {
    ...filter,
    all: false,
    name,
    matches: object => object.metadata?.name === name && filter.matches(object),
    decide: (key, attributes) => key.endsWith(`/${name}`) && filter.decide(key, attributes),
  };
};
