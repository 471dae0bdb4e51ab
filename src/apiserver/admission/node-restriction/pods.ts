import {sameContent} from '#src/api/equal.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodSpec, Volume} from '#src/api/pod.js';
import {configMapNamesOf} from '#src/model/pod/config-map-names.js';
import {secretNamesOf} from '#src/model/pod/secret-names.js';
import {existing, existingPod, quote, unexpected, type NodeRule, type NodeRules} from './node-rule.js';

type Source = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

const projectedReference = ({configMap, secret, serviceAccountToken, clusterTrustBundle, ...more}: Source): string | undefined => {
  if (configMap) return 'configmaps (via projected volumes)';
  if (secret) return 'secrets (via projected volumes)';
  if (serviceAccountToken) return 'serviceaccounts (via projected volumes)';
  if (clusterTrustBundle) return 'clustertrustbundles';
  return 'podCertificate' in more && more.podCertificate ? 'podcertificates' : undefined;
};

const volumeReference = ({
  configMap,
  secret,
  csi,
  glusterfs,
  persistentVolumeClaim,
  ephemeral,
  azureFile,
  projected,
}: Volume): string | undefined => {
  if (configMap) return 'configmaps (via configmap volumes)';
  if (secret) return 'secrets (via secret volumes)';
  if (csi) return 'csidrivers (via CSI volumes)';
  if (glusterfs) return 'endpoints (via glusterFS volumes)';
  if (persistentVolumeClaim) return 'persistentvolumeclaims';
  if (ephemeral) return 'persistentvolumeclaims (via ephemeral volumes)';
  if (azureFile) return 'secrets (via azureFile volumes)';
  return projected?.sources?.map(projectedReference).find(found => found !== undefined);
};

/** The first reference of a pod to API objects, through which a node could extend its rights. */
const reference = (spec: Readonly<PodSpec>): string | undefined => {
  if (spec.serviceAccountName) return 'serviceaccounts';
  if (secretNamesOf(spec).length > 0) return 'secrets';
  if (configMapNamesOf(spec).length > 0) return 'configmaps';
  if (spec.resourceClaims?.length) return 'resourceclaims';
  return spec.volumes?.map(volumeReference).find(found => found !== undefined);
};

/** A node may only create mirror pods of its static pods. */
const create: NodeRule = async (rules, node, {object}) => {
  const {naming} = rules;
  const {metadata, spec} = object as Pod;
  const mirror = naming.key('config.mirror');
  const nodeText = `node ${quote(node)}`;
  if (metadata?.annotations?.[mirror] === undefined)
    return `pod does not have ${quote(mirror)} annotation, ${nodeText} can only create mirror pods`;
  if (spec?.nodeName !== node) return `${nodeText} can only create pods with spec.nodeName set to itself`;
  const [owner, ...others] = metadata.ownerReferences ?? [];
  if (others.length > 0) return `${nodeText} can only create pods with a single owner reference set to itself`;
  const isNode = owner?.apiVersion === naming.apiVersion('', 'v1') && owner.kind === kinds.nodes.kind && owner.name === node;
  if (!owner || !isNode) return `${nodeText} can only create pods with an owner reference set to itself`;
  if (!owner.controller) return `${nodeText} can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion) return `${nodeText} must not set blockOwnerDeletion on an owner reference`;
  const {metadata: {uid = ''} = {}} = await existing(rules, kinds.nodes, '', node);
  if (owner.uid !== uid) return `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
  const found = reference(spec);
  return found && `${nodeText} can not create pods that reference ${found}`;
};

const main: NodeRule = async (rules, node, attributes) => {
  const {operation, namespace, name} = attributes;
  if (operation === 'CREATE') return create(rules, node, attributes);
  if (operation !== 'DELETE') return `${unexpected(attributes)}, node ${quote(node)} can only create and delete mirror pods`;
  const {spec} = await existingPod(rules, namespace, name);
  return spec?.nodeName === node ? undefined : `node ${quote(node)} can only delete pods with spec.nodeName set to itself`;
};

const claimNames = ({status}: Pod) => (status?.resourceClaimStatuses ?? []).map(({name, resourceClaimName}) => [name, resourceClaimName]);

const status: NodeRule = (_rules, node, attributes) => {
  if (attributes.operation !== 'UPDATE') return unexpected(attributes);
  const [pod, old] = [attributes.object as Pod, attributes.oldObject as Pod];
  const nodeText = `node ${quote(node)}`;
  if (old.spec?.nodeName !== node) return `${nodeText} can only update pod status for pods with spec.nodeName set to itself`;
  if (!sameContent(pod.metadata?.labels, old.metadata?.labels)) return `${nodeText} cannot update labels through pod status`;
  if (!sameContent(claimNames(pod), claimNames(old))) return `${nodeText} cannot update resource claim statues`;
  const [extended, before] = [pod, old].map(each => each.status?.extendedResourceClaimStatus);
  return sameContent(extended, before) ? undefined : `${nodeText} cannot update extended resource claim status`;
};

const eviction: NodeRule = async (rules: NodeRules, node, attributes) => {
  if (attributes.operation !== 'CREATE') return `unexpected operation ${attributes.operation}`;
  const name = attributes.name || attributes.object?.metadata?.name;
  if (!name) return 'could not determine pod from request data';
  const {spec} = await existingPod(rules, attributes.namespace, name);
  return spec?.nodeName === node ? undefined : `node ${node} can only evict pods with spec.nodeName set to itself`;
};

/** A node may update the status of its own pods, delete and evict them, and create their mirror pods. */
export const podRule: NodeRule = (rules, node, attributes) => {
  switch (attributes.subresource) {
    case '':
      return main(rules, node, attributes);
    case 'status':
      return status(rules, node, attributes);
    case 'eviction':
      return eviction(rules, node, attributes);
    default:
      return `unexpected pod subresource ${quote(attributes.subresource)}, only 'status' and 'eviction' are allowed`;
  }
};
