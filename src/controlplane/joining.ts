// What lets nodes join with bootstrap tokens, under the names and with the rights that kubeadm gives: the cluster-info
// config map, which everybody may read, and the permissions of the tokens' group.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {ConfigMap, KubeObject, PolicyRule, RbacSubject} from '#src/api/types.js';
import {wellKnown} from '#src/api/user.js';
import type {Client} from '#src/client/client.js';
import {clusterInfoKey, clusterInfoName, nodeTokenGroup} from '#src/model/bootstrap-token.js';
import {ensureObject, objectName, type ObjectName, type Step} from './ensure.js';

/** How nodes connect: the server's URL, and its CA in PEM. */
export interface ClusterAddress {
  readonly server: string;
  readonly ca: string;
}

/** The connection settings in the config map: a kubeconfig without users. */
const settingsOf = ({server, ca}: ClusterAddress): string => `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${Buffer.from(ca).toString('base64')}
    server: ${server}
  name: ""
contexts: null
current-context: ""
kind: Config
users: null
`;

/** Creates what is missing; of what exists, only the connection settings are brought up to date. */
export const ensureJoining = async (client: Client, address: ClusterAddress): Promise<void> => {
  await ensureClusterInfo(client, settingsOf(address));
  for (const [kind, object] of permissions(client.naming)) {
    const decide = (found: KubeObject | undefined): Step<KubeObject> => (found ? undefined : {create: object});
    await ensureObject(client.resource(kind), objectName(object), decide);
  }
};

/** Returns the kinds and names of what `ensureJoining` creates. */
export const joiningObjects = (naming: Naming): (readonly [Kind, readonly ObjectName[]])[] => [
  [kinds.configMaps, [{name: clusterInfoName, namespace: naming.publicNamespace}]],
  ...permissions(naming).map(([kind, object]) => [kind, [objectName(object)]] as const),
];

const ensureClusterInfo = (client: Client, settings: string): Promise<void> => {
  const {naming} = client;
  const namespace = naming.publicNamespace;
  const key = clusterInfoKey(naming);
  return ensureObject<ConfigMap>(client.resource(kinds.configMaps), {name: clusterInfoName, namespace}, found => {
    if (!found) return {create: {metadata: {name: clusterInfoName, namespace}, data: {[key]: settings}}};
    return found.data?.[key] === settings ? undefined : {update: {...found, data: {...found.data, [key]: settings}}};
  });
};

const permissions = (naming: Naming): (readonly [Kind, KubeObject])[] => {
  const apiGroup = naming.group('rbac.authorization');
  const named = (name: string): string => `${naming.prefix}adm:${name}`;
  const group = (name: string): RbacSubject => ({kind: 'Group', apiGroup, name});
  const joining = group(nodeTokenGroup(naming));
  const clusterBinding = (name: string, role: string, subject: RbacSubject): readonly [Kind, KubeObject] => [
    kinds.clusterRoleBindings,
    {metadata: {name: named(name)}, roleRef: {apiGroup, kind: 'ClusterRole', name: role}, subjects: [subject]} as KubeObject,
  ];
  const requests = `system:${naming.group('certificates')}:certificatesigningrequests`;
  const reading = (resources: string, ...resourceNames: string[]): PolicyRule[] => [
    {verbs: ['get'], apiGroups: [''], resources: [resources], ...(resourceNames.length > 0 ? {resourceNames} : {})},
  ];
  const info = {name: named('bootstrap-signer-clusterinfo'), namespace: naming.publicNamespace};
  const readers: RbacSubject = {kind: 'User', apiGroup, name: wellKnown.anonymous};
  return [
    [kinds.roles, {metadata: info, rules: reading('configmaps', clusterInfoName)} as KubeObject],
    [kinds.roleBindings, {metadata: info, roleRef: {apiGroup, kind: 'Role', name: info.name}, subjects: [readers]} as KubeObject],
    clusterBinding(`${naming.agent}-bootstrap`, 'system:node-bootstrapper', joining),
    clusterBinding('node-autoapprove-bootstrap', `${requests}:nodeclient`, joining),
    clusterBinding('node-autoapprove-certificate-rotation', `${requests}:selfnodeclient`, group('system:nodes')),
    [kinds.clusterRoles, {metadata: {name: named('get-nodes')}, rules: reading('nodes')} as KubeObject],
    clusterBinding('get-nodes', named('get-nodes'), joining),
  ];
};
