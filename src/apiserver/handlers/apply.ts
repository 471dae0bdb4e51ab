// Server-side apply: reads the patch of a request and returns its effect on an object, with conflicts of field
// managers. The write itself is done by the registry.

import type {Kind} from '#src/api/kinds/index.js';
import {badRequest, notFound, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {andThen} from '#src/base/eventually.js';
import {ownValue} from '#src/base/own.js';
import type {View} from '#src/resources/definition.js';
import {decodeValue} from '#src/schema/decode/decode.js';
import type {ParsedBody} from '#src/schema/decode/document.js';
import {DecodeError, NoObject} from '#src/schema/decode/error.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {Versions} from '#src/schema/apply/tracking.js';
import {checkFits} from '#src/schema/apply/type-mismatches.js';
import {applyWithLastApplied} from '#src/schema/apply/last-applied.js';
import {ApplyConflict} from '#src/schema/apply/conflicts.js';
import type {FieldSet} from '#src/schema/apply/field-set.js';
import type {ManagedFieldsEntry} from '#src/schema/apply/managers.js';
import {inapplicable} from '#src/schema/patch/errors.js';
import {checkAddress} from '#src/apiserver/registry/address.js';
import {acrossVersions} from '#src/apiserver/registry/write/across-versions.js';
import {applierOf, asCompared, entriesOf, setEntries} from '#src/apiserver/registry/write/field-ownership.js';
import type {WriteQuery} from '#src/apiserver/registry/options.js';
import type {Resource, ServedResource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import type {Transform} from '#src/apiserver/registry/write/update.js';
import {mediaTypeOf, readBytes, schemaOf} from '#src/apiserver/request/body.js';
import {cborApplyMediaType} from '#src/schema/cbor/media-types.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import {noteValue} from './audited.js';
import {checkView, withView} from './view-change.js';

/** An apply patch of the expected kind. */
interface Intent {
  readonly value: PlainObject;
  /** Namespace, name and kind for messages. */
  readonly label: string;
}

/**
 * Reads an apply patch and returns its effect on an object, or on none. Throws 400 if it is malformed or of another
 * kind, and 500, as upstream, if it does not match the kind's schema.
 */
export const applyIntentOf = async (
  served: ServedResource,
  context: ResourceContext,
  write: WriteContext,
  query: WriteQuery,
): Promise<Transform> => {
  const {resource, kind, version} = served;
  const {naming, schemas} = resource.settings;
  const {body, ...intent} = await intentOf(kind, resource, context);
  const apiVersion = naming.apiVersion(kind.group, kind.version);
  const {subresource} = context.target;
  const endpoint = resource.endpoint(subresource);
  const node = schemaOf(schemas, kind);
  return old => {
    const live = old ? {...(version ? version.fromHub(old, naming) : old), apiVersion, kind: kind.kind} : {apiVersion, kind: kind.kind};
    if (old && resource.isCustom) {
      // The schema may have changed since the object was stored.
      const label = labelOf(live as PlainObject, apiVersion, kind.kind);
      checkFits(live, node, `failed to create typed live object (${label}): `, {allowsDuplicates: true});
    }
    const application = {
      live: live as PlainObject,
      intent: intent.value,
      node,
      entries: entriesOf(old),
      force: query.force,
      isChecked: resource.isCustom,
    };
    return andThen(
      acrossVersions(resource, versions =>
        applyWithLastApplied(application, applierOf(resource, endpoint, subresource, write, versions), naming.annotations.lastApplied),
      ),
      applied => {
        reportDoubles(body, query, context);
        const object = held(applied.object, node, intent);
        setEntries((object.metadata ??= {}), applied.entries);
        checkAddress(object, context.target, resource.kind);
        version?.default?.(object, resource.hooks(context.user));
        return version ? version.toHub(object, naming) : object;
      },
    );
  };
};

/**
 * Reads an apply patch of the kind that a subresource shows instead of the object. The field manager then owns, through
 * the subresource, the fields that the view sets in the object itself.
 */
export const applyViewOf = async (
  view: View<KubeObject>,
  {resource}: ServedResource,
  context: ResourceContext,
  write: WriteContext,
  query: WriteQuery,
): Promise<Transform> => {
  const {naming, schemas} = resource.settings;
  const {body, value} = await intentOf(view.shows.kind, resource, context);
  const {target} = context;
  const sent = value as KubeObject;
  return old => {
    if (!old) throw notFound(resource.ref, target.name);
    const intent: KubeObject = {};
    if (view.sets(sent)) view.put(sent, intent);
    const endpoint = resource.endpoint(target.subresource);
    const application = {
      live: asCompared(endpoint, old),
      intent: intent as PlainObject,
      node: schemaOf(schemas, resource.kind),
      entries: entriesOf(old),
      isOwned: view.owners(old).length > 0,
      force: query.force,
    };
    const writer = (versions: Versions) => applierOf(resource, endpoint, target.subresource, {...write, served: resource.kind}, versions);
    const apiVersion = naming.apiVersion(view.shows.kind.group, view.shows.kind.version);
    const applied = (versions: Versions) =>
      throughView(view, apiVersion, () => applyWithLastApplied(application, writer(versions), naming.annotations.lastApplied));
    return andThen(acrossVersions(resource, applied), ({entries}) => {
      reportDoubles(body, query, context);
      const shown = mergedView(view, sent, old, entries);
      checkAddress(shown, target, resource.kind);
      checkView(view, resource, shown, old, write.dryRun);
      const object = withView(view, shown, old);
      setEntries(object.metadata!, entries);
      return object;
    });
  };
};

/**
 * Returns what a view shows after an intent: what the intent does not say stays as it is, except values that nobody
 * owns any more.
 */
const mergedView = (
  view: View<KubeObject>,
  sent: KubeObject,
  old: Readonly<KubeObject>,
  managedFields: ReturnType<typeof entriesOf>,
): KubeObject => {
  const isRemoved = () => view.owners(old).length > 0 && view.owners({metadata: {managedFields: [...managedFields]}}).length === 0;
  const {metadata: _metadata, ...values} = view.sets(sent) ? sent : isRemoved() ? {} : view.of(old);
  const {resourceVersion: _, ...address} = view.of(old).metadata ?? {};
  return {...values, metadata: {...address, ...sent.metadata}};
};

/**
 * Reports conflicts in the version and the fields of the view, the only ones in which the object's owners are known.
 */
const throughView = <T>(view: View<KubeObject>, apiVersion: string, apply: () => T): T => {
  try {
    return apply();
  } catch (error) {
    if (!(error instanceof ApplyConflict)) throw error;
    const shown = (entry: ManagedFieldsEntry) => (view.owners({metadata: {managedFields: [entry]}})[0] ?? entry).fieldsV1 as FieldSet;
    throw new ApplyConflict(
      error.conflicts.map(({owner, fields}) => ({owner: {...owner, apiVersion}, fields: shown({...owner, fieldsV1: fields})})),
    );
  }
};

/** Reads an apply patch of a kind and checks it by the schema. */
const intentOf = async (kind: Kind, {settings}: Resource, context: ResourceContext): Promise<Intent & {readonly body: ParsedBody}> => {
  const body = await readIntent(context, settings);
  noteValue(context.notes, body.value);
  const apiVersion = settings.naming.apiVersion(kind.group, kind.version);
  checkKind(body, apiVersion, kind.kind);
  const value = body.value as PlainObject;
  const label = labelOf(value, apiVersion, kind.kind);
  checkFits(value, schemaOf(settings.schemas, kind), `failed to create typed patch object (${label}): `);
  return {body, value, label};
};

const readIntent = async ({request, user}: ResourceContext, settings: Resource['settings']): Promise<ParsedBody> => {
  const bytes = await readBytes(request);
  const cbor = mediaTypeOf(request) === cborApplyMediaType ? settings.cbor : undefined;
  try {
    return cbor ? cbor.parseIntent(bytes) : await settings.yaml.parse(bytes, {flow: user.name, signal: request.signal});
  } catch (error) {
    if (error instanceof DecodeError)
      throw badRequest(`error decoding ${cbor ? 'CBOR' : 'YAML'}: ${cbor ? error.message : intentProblem(error)}`, error);
    throw error;
  }
};

/** A patch is read in two steps; upstream reports which one failed. */
const intentProblem = (error: DecodeError): string => {
  if (error instanceof NoObject)
    return `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${error.given} into Go value of type map[string]interface {}`;
  return error.message.startsWith('yaml: ') ? `error converting YAML to JSON: ${error.message}` : error.message;
};

const groupVersion = (apiVersion: string): string => (apiVersion.includes('/') ? apiVersion : `/${apiVersion}`);

const checkKind = (body: ParsedBody, apiVersion: string, kind: string): void => {
  const {metadata} = body.value as PlainObject;
  if (body.kind !== kind || body.apiVersion !== apiVersion)
    throw badRequest(`invalid object type: ${groupVersion(body.apiVersion)}, Kind=${body.kind}`);
  if (isPlainObject(metadata) && ownValue(metadata, 'managedFields') !== undefined && metadata['managedFields'] !== null)
    throw badRequest('metadata.managedFields must be nil');
};

const labelOf = ({metadata}: PlainObject, apiVersion: string, kind: string): string => {
  const {namespace = '', name = ''} = isPlainObject(metadata) ? (metadata as {namespace?: string; name?: string}) : {};
  return `${namespace}/${name}; ${groupVersion(apiVersion)}, Kind=${kind}`;
};

/** Duplicate keys are refused or warned about, but only after all other checks. */
const reportDoubles = ({problems}: ParsedBody, {fieldValidation}: WriteQuery, {warnings}: ResourceContext): void => {
  if (fieldValidation === 'Ignore' || problems.length === 0) return;
  if (fieldValidation === 'Strict')
    throw badRequest(
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n${problems.map(({text}) => `  ${text}`).join('\n')}`,
    );
  for (const {text} of problems) warnings.add(text);
};

const held = (object: PlainObject, node: SchemaNode, {label}: Intent): KubeObject => {
  try {
    return decodeValue<KubeObject>(object, node, 'Ignore', {source: 'applied'}).object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    // Custom resources remain without a type.
    const conversion = node.coerce ? '' : `unable to convert unstructured object to ${label.slice(label.indexOf('; ') + 2)}: `;
    throw new StatusError(
      {...inapplicable(`failed to convert new object (${label}) to proper version: ${conversion}${error.message}`).status},
      {cause: error},
    );
  }
};
