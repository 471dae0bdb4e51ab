import {kinds, type Kind} from '#src/api/kinds/index.js';
import {StatusError} from '#src/api/status.js';
import type {Client} from '#src/client/client.js';

/** A permission on a kind's objects, or on a subresource of them. */
interface Permission {
  readonly verbs: readonly string[];
  readonly kind: Kind;
  readonly subresource?: string;
  /** All namespaces by default. */
  readonly namespace?: string;
}

/** All requests of simulated nodes as their process's user. */
const nodesPermissions = (client: Client): readonly Permission[] => [
  {verbs: ['get', 'list', 'watch', 'create', 'patch'], kind: kinds.nodes},
  {verbs: ['patch'], kind: kinds.nodes, subresource: 'status'},
  {verbs: ['get', 'list', 'watch', 'delete'], kind: kinds.pods},
  {verbs: ['patch'], kind: kinds.pods, subresource: 'status'},
  {verbs: ['create'], kind: kinds.pods, subresource: 'eviction'},
  {verbs: ['get', 'create', 'update'], kind: kinds.leases, namespace: client.naming.nodeLeaseNamespace},
  {verbs: ['get'], kind: kinds.configMaps},
  {verbs: ['get'], kind: kinds.secrets},
  {verbs: ['create', 'patch'], kind: kinds.coreEvents},
  {verbs: ['create'], kind: kinds.tokenReviews},
  {verbs: ['create'], kind: kinds.subjectAccessReviews},
];

/** All further requests with the simulated CSI driver. */
const volumesPermissions: readonly Permission[] = [
  {verbs: ['list', 'watch'], kind: kinds.persistentVolumeClaims},
  {verbs: ['update'], kind: kinds.persistentVolumeClaims, subresource: 'status'},
  {verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'], kind: kinds.persistentVolumes},
  {verbs: ['list', 'watch', 'update'], kind: kinds.volumeAttachments},
  {verbs: ['update'], kind: kinds.volumeAttachments, subresource: 'status'},
  {verbs: ['list', 'watch', 'create'], kind: kinds.storageClasses},
  {verbs: ['list', 'watch', 'create'], kind: kinds.csiDrivers},
  {verbs: ['get', 'create', 'update'], kind: kinds.csiNodes},
];

const resourceOf = ({kind: {plural}, subresource}: Permission): string => (subresource ? `${plural}/${subresource}` : plural);

/**
 * Returns the permissions that simulated nodes, with volumes or without, need and this client lacks, such as `create
 * nodes`. None if the server does not report permissions.
 */
export const missingPermissions = async (client: Client, {volumes}: {readonly volumes: boolean}): Promise<string[]> => {
  const reviews = client.resource(kinds.selfSubjectAccessReviews);
  const mayNot = async (right: Permission, verb: string): Promise<boolean> => {
    const {
      kind: {group, plural},
      subresource,
      namespace,
    } = right;
    const resourceAttributes = {
      verb,
      group: client.naming.group(group),
      resource: plural,
      ...(subresource ? {subresource} : {}),
      ...(namespace ? {namespace} : {}),
    };
    try {
      return !(await reviews.create({spec: {resourceAttributes}})).status?.allowed;
    } catch (error) {
      if (error instanceof StatusError) return false;
      throw error;
    }
  };
  const found = [...nodesPermissions(client), ...(volumes ? volumesPermissions : [])].flatMap(right =>
    right.verbs.map(async verb => ((await mayNot(right, verb)) ? [`${verb} ${resourceOf(right)}`] : [])),
  );
  return (await Promise.all(found)).flat();
};
