import {sameContent} from '#src/api/equal.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {wellKnown} from '#src/api/user.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {parseSigningRequest} from '#src/pki/signing-request.js';
import {existing, existingPod, quote, unexpected, type NodeRule} from './node-rule.js';

type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;

/** A claim without the fields that the node may change. */
const fixed = (claim: Claim): unknown => {
  const {resourceVersion: _revision, managedFields: _fields, ...metadata} = claim.metadata ?? {};
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _resources,
    allocatedResourceStatuses: _statuses,
    ...status
  } = claim.status ?? {};
  return {...claim, metadata, status};
};

export const claimRule: NodeRule = (_rules, node, attributes) => {
  if (attributes.subresource !== 'status') return 'may only update PVC status';
  if (attributes.operation !== 'UPDATE') return unexpected(attributes);
  if (sameContent(fixed(attributes.object as Claim), fixed(attributes.oldObject as Claim))) return undefined;
  return `node ${quote(node)} is not allowed to update fields other than status.quantity and status.conditions`;
};

const nameOf = ({operation, object, name}: AdmissionAttributes): string | undefined =>
  operation === 'CREATE' ? object?.metadata?.name : name;

export const leaseRule: NodeRule = ({naming}, node, attributes) => {
  if (attributes.namespace !== naming.nodeLeaseNamespace)
    return `can only access leases in the ${quote(naming.nodeLeaseNamespace)} system namespace`;
  return nameOf(attributes) === node ? undefined : 'can only access node lease with the same name as the requesting node';
};

export const csiNodeRule: NodeRule = (_rules, node, attributes) =>
  nameOf(attributes) === node ? undefined : 'can only access CSINode with the same name as the requesting node';

export const sliceRule: NodeRule = (_rules, node, {operation, object, oldObject}) => {
  const slice = (operation === 'CREATE' ? object : operation === 'DELETE' ? oldObject : undefined) as
    | ObjectOf<typeof kinds.resourceSlices>
    | undefined;
  if (!slice || slice.spec.nodeName === node) return undefined;
  return `can only ${operation.toLowerCase()} ResourceSlice with the same NodeName as the requesting node`;
};

/** A node may only request certificates for its own name. */
export const signingRule: NodeRule = ({naming, gate}, node, {operation, object}) => {
  if (operation !== 'CREATE' || gate('AllowInsecurePlatletCertificateSigningRequests')) return undefined;
  const {signerName, request} = (object as CertificateSigningRequest).spec;
  if (signerName !== naming.signers.agentServing && signerName !== naming.signers.apiserverClientAgent) return undefined;
  try {
    const {commonName} = parseSigningRequest(Buffer.from(request ?? '', 'base64')).subject;
    const own = `${wellKnown.nodeUserPrefix}${node}`;
    return commonName === own ? undefined : `can only create a node CSR with CN=${own}`;
  } catch (error) {
    if (error instanceof PkiError) return `unable to parse csr: ${error.message}`;
    throw error;
  }
};

/** A node may only request certificates of pods bound to it, with their actual attributes. */
export const podCertificateRule: NodeRule = async (rules, node, attributes) => {
  if (attributes.operation !== 'CREATE') return `${unexpected(attributes)}, only create is allowed`;
  if (attributes.subresource) return `unexpected PodCertificateRequest subresource ${quote(attributes.subresource)}`;
  const {spec} = attributes.object as PodCertificateRequest;
  if (spec.nodeName !== node)
    return `PodCertificateRequest.Spec.NodeName=${quote(spec.nodeName)}, which is not the requesting node ${quote(node)}`;
  const {namespace} = attributes;
  const pod = await existingPod(rules, namespace, spec.podName);
  if (pod.metadata?.annotations?.[rules.naming.key('config.mirror')] !== undefined) return `pod ${quote(spec.podName)} is a mirror pod`;
  if (pod.spec?.nodeName !== node) return `pod ${quote(spec.podName)} is not running on the requesting node ${quote(node)}`;
  const account = await existing(rules, kinds.serviceAccounts, namespace, spec.serviceAccountName);
  const liveNode = await existing(rules, kinds.nodes, '', node);
  const claims: readonly (readonly [field: string, claimed: string, is: string | undefined])[] = [
    ['podUID', spec.podUID, pod.metadata?.uid],
    ['serviceAccountName', spec.serviceAccountName, pod.spec.serviceAccountName],
    ['serviceAccountUID', spec.serviceAccountUID, account.metadata?.uid],
    ['nodeUID', spec.nodeUID, liveNode.metadata?.uid],
  ];
  const wrong = claims.find(([, claimed, is]) => claimed !== is);
  return (
    wrong &&
    `PodCertificateRequest for pod ${quote(`${namespace}/${spec.podName}`)} contains spec.${wrong[0]} ${quote(wrong[1])}, which differs from ${quote(wrong[2] ?? '')}`
  );
};
