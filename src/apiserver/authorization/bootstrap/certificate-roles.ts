import type {ClusterRole} from '#src/api/types.js';
import type {PolicyBuilders} from './builders.js';

/**
 * For requesters of certificates, and for approvers of each signer's requests. Only the last one is bound by default.
 */
export const certificateRoles = ({naming, gate, clusterRole, rule}: PolicyBuilders): ClusterRole[] => {
  const prefix = `system:${naming.group('certificates')}`;
  const approver = (signer: string): ClusterRole =>
    clusterRole(`${prefix}:${signer.slice(signer.indexOf('/') + 1)}-approver`, [rule('approve', 'certificates', 'signers', signer)]);
  const {signers} = naming;
  return [
    ...['nodeclient', 'selfnodeclient'].map(kind =>
      clusterRole(`${prefix}:certificatesigningrequests:${kind}`, [rule('create', 'certificates', `certificatesigningrequests/${kind}`)]),
    ),
    ...[signers.apiserverClient, signers.apiserverClientAgent, signers.agentServing, signers.legacyUnknown].map(approver),
    ...(gate('ClusterTrustBundle')
      ? [clusterRole('system:cluster-trust-bundle-discovery', [rule('get list watch', 'certificates', 'clustertrustbundles')])]
      : []),
  ];
};
