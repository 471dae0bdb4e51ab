import {parseRange} from '#src/base/ip-address.js';
import {flagSection} from '#src/options/flag.js';

const isRange = (text: string): boolean => parseRange(text) !== undefined;

/** Flags of the controller that approves the serving certificates of nodes. */
export const servingApproval = flagSection('Approval of serving certificates of nodes', {
  'node-serving-approval-node-names': {
    type: 'strings',
    help: 'Patterns of the names of nodes whose requests may be approved; * stands for any text. node-serving-approving-controller approves them, if --controllers names it.',
    default: '*',
  },
  'node-serving-approval-dns-suffixes': {
    type: 'strings',
    help: "Domains, such as nodes.example.com, in which DNS names of certificates must be. Names must be the node's in any case. Empty allows all of them.",
  },
  'node-serving-approval-cidrs': {
    type: 'strings',
    help: "Ranges, such as 10.0.0.0/16, in which IP addresses of certificates must be. Addresses must be the node's in any case. Empty allows all of them.",
    check: (cidrs: readonly string[]) => {
      const odd = cidrs.find(each => !isRange(each));
      return odd === undefined ? undefined : `${JSON.stringify(odd)} is not a range such as 10.0.0.0/16`;
    },
  },
  'node-serving-approval-max-duration': {
    type: 'duration',
    help: 'The longest life of a certificate that may be requested: requests without spec.expirationSeconds, or with more, are not approved. 0 for no limit.',
    default: '0s',
    range: {min: '0'},
  },
});
