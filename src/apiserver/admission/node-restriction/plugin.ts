import {kinds, type Kind} from '#src/api/kinds/index.js';
import {nodeOfUser} from '#src/api/node/user.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import {nodeRule} from './nodes.js';
import {claimRule, csiNodeRule, leaseRule, podCertificateRule, signingRule, sliceRule} from './other-kinds.js';
import {quote, type NodeRule, type NodeRules} from './node-rule.js';
import {podRule} from './pods.js';
import {tokenRule} from './tokens.js';

const byKind: readonly (readonly [kind: Kind, rule: NodeRule])[] = [
  [kinds.pods, podRule],
  [kinds.nodes, nodeRule],
  [kinds.persistentVolumeClaims, claimRule],
  [kinds.serviceAccounts, tokenRule],
  [kinds.leases, leaseRule],
  [kinds.csiNodes, csiNodeRule],
  [kinds.resourceSlices, sliceRule],
  [kinds.certificateSigningRequests, signingRule],
  [kinds.podCertificateRequests, podCertificateRule],
];

/**
 * Restricts node agents to their own objects where authorization cannot decide without the request's body. Ignores all
 * other users.
 */
export const nodeRestriction = (rules: NodeRules): AdmissionPlugin => {
  const found = new Map(byKind.map(([{group, plural}, rule]) => [`${rules.naming.group(group)}/${plural}`, rule]));
  const check = async (node: string, attributes: AdmissionAttributes): Promise<void> => {
    if (node === '') throw refuse(attributes, `could not determine node from user ${quote(attributes.user.name)}`);
    const why = await found.get(`${attributes.group}/${attributes.resource}`)?.(rules, node, attributes);
    if (why) throw refuse(attributes, why);
  };
  return {
    name: 'NodeRestriction',
    handles: {operations: ['CREATE', 'UPDATE', 'DELETE']},
    admit(attributes) {
      const node = nodeOfUser(attributes.user);
      return node === undefined ? undefined : check(node, attributes);
    },
  };
};
