import type {ApiResponse} from '#src/api/request.js';
import {notFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {ResourceDefinition, View} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {checkAddress} from '#src/apiserver/registry/address.js';
import {parseWriteQuery} from '#src/apiserver/registry/options.js';
import {findRecord, objectOf} from '#src/apiserver/registry/read/read.js';
import {Resource, type ServedResource} from '#src/apiserver/registry/resource.js';
import {updateObject, type Transform} from '#src/apiserver/registry/write/update.js';
import {readObject} from '#src/apiserver/request/body.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import {applyViewOf} from './apply.js';
import {noteSent} from './audited.js';
import {applyPatch, patchTypeOf} from './patch.js';
import {objectResponse, representationFor, writeContext, type ResourceServices} from './resource.js';
import {checkView, withView} from './view-change.js';
import {bodyReader, targetOf} from './write.js';

/** Resources through which the shown kind is presented like any other. */
const shownAs = new WeakMap<Resource, Map<View<KubeObject>, ServedResource>>();

const servedView = ({resource}: ServedResource, view: View<KubeObject>): ServedResource => {
  let views = shownAs.get(resource);
  if (!views) shownAs.set(resource, (views = new Map()));
  let served = views.get(view);
  if (!served) {
    const definition: ResourceDefinition = {...view.shows, metadata: {nameProblems: pathSegmentName}, main: {writes: {update: []}}};
    views.set(view, (served = {resource: new Resource(definition, resource.settings), kind: view.shows.kind}));
  }
  return served;
};

const viewResponse = (
  served: ServedResource,
  view: View<KubeObject>,
  context: ResourceContext,
  object: Readonly<KubeObject>,
): ApiResponse => {
  const {naming} = served.resource.settings;
  const {group, version, kind} = view.shows.kind;
  const shown = {kind, apiVersion: naming.apiVersion(group, version), ...view.of(object)};
  return objectResponse(context, representationFor(context, servedView(served, view), 'item'), shown);
};

/** GET of the kind that a subresource shows instead of the object. */
export const getView = async (view: View<KubeObject>, served: ServedResource, context: ResourceContext): Promise<ApiResponse> => {
  const {resource} = served;
  const {namespace, name} = context.target;
  const object = objectOf(resource, await findRecord(served, namespace, name));
  view.checkShown?.(object);
  return viewResponse(served, view, context, object);
};

/** Applies a change of the view to the object. */
const through =
  (
    view: View<KubeObject>,
    {resource}: ServedResource,
    {name, dryRun}: {readonly name: string; readonly dryRun: boolean},
    change: Transform,
  ): Transform =>
  async old => {
    if (!old) throw notFound(resource.ref, name);
    const shown = await change(old);
    checkView(view, resource, shown, old, dryRun);
    return withView(view, shown, old);
  };

/** PUT of the kind that a subresource shows instead of the object. */
export const updateView = async (
  view: View<KubeObject>,
  services: ResourceServices,
  served: ServedResource,
  context: ResourceContext,
): Promise<ApiResponse> => {
  const {name} = context.target;
  const query = parseWriteQuery(served.resource.settings.naming, context.info.query, 'UpdateOptions');
  const shown = await readObject({...bodyReader(served, context, query), kind: view.shows.kind, custom: false});
  noteSent(context.notes, shown);
  checkAddress(shown, context.target, served.resource.kind);
  const done = await updateObject(
    targetOf(services, served, context),
    through(view, served, {name, dryRun: query.dryRun}, () => shown),
    writeContext(context, served, query.dryRun),
  );
  return viewResponse(served, view, context, done.object);
};

/** What a view shows as a patch finds it: with the owners of what can be changed there. */
const withOwners = (view: View<KubeObject>, object: Readonly<KubeObject>, apiVersion: string): KubeObject => {
  const shown = view.of(object);
  const managedFields = view.owners(object).map(entry => ({...entry, apiVersion}));
  return managedFields.length > 0 ? {...shown, metadata: {...shown.metadata, managedFields}} : shown;
};

/** PATCH of what a subresource shows instead of the object. */
export const patchView = async (
  view: View<KubeObject>,
  services: ResourceServices,
  served: ServedResource,
  context: ResourceContext,
): Promise<ApiResponse> => {
  const type = patchTypeOf(context, served);
  const query = parseWriteQuery(served.resource.settings.naming, context.info.query, 'PatchOptions', {applies: type === 'apply'});
  const target = {...targetOf(services, served, context), patches: true};
  const write = writeContext(context, served, query.dryRun);
  if (type === 'apply') {
    const applied = await updateObject(target, await applyViewOf(view, served, context, write, query), {
      ...write,
      isOwnershipRecorded: true,
    });
    return viewResponse(served, view, context, applied.object);
  }
  const apiVersion = served.resource.settings.naming.apiVersion(view.shows.kind.group, view.shows.kind.version);
  const shown = {
    resource: served.resource,
    kind: view.shows.kind,
    version: {
      kind: view.shows.kind,
      toHub: (object: KubeObject) => object,
      fromHub: (object: Readonly<KubeObject>) => withOwners(view, object, apiVersion),
    },
  };
  const change = await applyPatch(shown, context, type, query);
  const done = await updateObject(target, through(view, served, {name: context.target.name, dryRun: query.dryRun}, change), write);
  return viewResponse(served, view, context, done.object);
};
