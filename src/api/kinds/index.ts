// The handles of all built-in kinds, and the conversions between a handle and its names on the wire, which depend on
// the naming.

import {kind as makeKind, type Kind} from '#src/api/kind.js';
import {coreKinds} from './core.js';
import {admissionregistrationKinds} from './admissionregistration.js';
import {apiextensionsKinds} from './apiextensions.js';
import {apiregistrationKinds} from './apiregistration.js';
import {appsKinds} from './apps.js';
import {authenticationKinds} from './authentication.js';
import {authorizationKinds} from './authorization.js';
import {autoscalingKinds} from './autoscaling.js';
import {batchKinds} from './batch.js';
import {certificatesKinds} from './certificates.js';
import {coordinationKinds} from './coordination.js';
import {discoveryKinds} from './discovery.js';
import {eventsKinds} from './events.js';
import {flowcontrolApiserverKinds} from './flowcontrol-apiserver.js';
import {internalApiserverKinds} from './internal-apiserver.js';
import {metricsKinds} from './metrics.js';
import {networkingKinds} from './networking.js';
import {nodeKinds} from './node.js';
import {policyKinds} from './policy.js';
import {rbacAuthorizationKinds} from './rbac-authorization.js';
import {resourceKinds} from './resource.js';
import {schedulingKinds} from './scheduling.js';
import {storageKinds} from './storage.js';
import {storagemigrationKinds} from './storagemigration.js';
import type {GroupToken, Naming} from '#src/api/naming.js';

export type {Kind} from '#src/api/kind.js';

/** Every built-in kind by its name in code. */
export const kinds = {
  ...coreKinds,
  ...admissionregistrationKinds,
  ...apiextensionsKinds,
  ...apiregistrationKinds,
  ...appsKinds,
  ...authenticationKinds,
  ...authorizationKinds,
  ...autoscalingKinds,
  ...batchKinds,
  ...certificatesKinds,
  ...coordinationKinds,
  ...discoveryKinds,
  ...eventsKinds,
  ...flowcontrolApiserverKinds,
  ...internalApiserverKinds,
  ...metricsKinds,
  ...networkingKinds,
  ...nodeKinds,
  ...policyKinds,
  ...rbacAuthorizationKinds,
  ...resourceKinds,
  ...schedulingKinds,
  ...storageKinds,
  ...storagemigrationKinds,
} as const;

/** The type of a kind's objects. */
export type ObjectOf<K> = K extends Kind<infer T> ? T : never;

/** `apiVersion` of a kind on the wire. */
export const apiVersionOf = (naming: Naming, of: Kind): string => naming.apiVersion(of.group, of.version);

/** The group of an `apiVersion`; empty for the core group. */
export const groupOfVersion = (apiVersion: string): string => apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));

/** Returns whether a reference is to an object of the kind, in any version. */
export const isOfKind = ({apiVersion, kind}: {readonly apiVersion: string; readonly kind: string}, of: Kind, naming: Naming): boolean =>
  kind === of.kind && groupOfVersion(apiVersion) === groupOfVersion(apiVersionOf(naming, of));

/**
 * The handle of a kind that is known only at run time, by its group on the wire. A built-in kind has the names of its
 * own handle. Groups that are not built in have no naming suffix: their token is their name.
 */
export const kindOnWire = (
  naming: Naming,
  {
    group,
    version,
    kind,
    plural,
    namespaced,
  }: {readonly group: string; readonly version: string; readonly kind: string; readonly plural: string; readonly namespaced: boolean},
): Kind => makeKind(naming.groupToken(group) ?? (group as GroupToken), version, kind, plural, namespaced);

/** The path of a kind's collection, with the namespace if one is given. */
export const collectionPath = (naming: Naming, of: Kind, namespace?: string): string => {
  const root = of.group === '' ? `/api/${of.version}` : `/apis/${naming.group(of.group)}/${of.version}`;
  return namespace ? `${root}/namespaces/${encodeURIComponent(namespace)}/${of.plural}` : `${root}/${of.plural}`;
};

/** `resource` or `resource.group`, as messages quote it. */
export const groupResource = (naming: Naming, of: Pick<Kind, 'group' | 'plural'>): string =>
  of.group === '' ? of.plural : `${of.plural}.${naming.group(of.group)}`;
