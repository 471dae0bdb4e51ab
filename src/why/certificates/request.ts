import {kinds} from '#src/api/kinds/index.js';
import {isForbidden} from '#src/api/status.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {conditionOf} from './conditions.js';
import {explainRequest, type IsAllowed} from './explain.js';

/**
 * Asks the server whether the requester may create a virtual subresource of signing requests; undefined if the server
 * refuses to say.
 */
export const mayCreate =
  (client: Client): IsAllowed =>
  async ({spec: {username, groups, uid}}, subresource) => {
    const resourceAttributes = {
      group: client.naming.group('certificates'),
      resource: 'certificatesigningrequests',
      verb: 'create',
      subresource,
    };
    const spec = {user: username ?? '', groups: groups ?? [], ...(uid ? {uid} : {}), resourceAttributes};
    try {
      return (await client.resource(kinds.subjectAccessReviews).create({spec})).status?.allowed ?? false;
    } catch (error) {
      if (isForbidden(error)) return undefined;
      throw error;
    }
  };

/** The explanation of a request by the server's own answers, line by line: its state first, then what to do. */
export const explanationOf = (client: Client, csr: CertificateSigningRequest, now: number): Promise<string[]> =>
  explainRequest(csr, {naming: client.naming, now, isAllowed: mayCreate(client)});

const states = ['Denied', 'Failed', 'Approved'] as const;

const unissued: Rule<CertificateSigningRequest> = async (csr, {client, now}) => {
  const decided = states.map(type => conditionOf(csr, type)).find(Boolean);
  if (csr.status?.certificate && decided?.type === 'Approved') return undefined;
  const [state = '', ...advice] = await explanationOf(client, csr, now);
  return {
    rule: `request-${decided ? {Denied: 'denied', Failed: 'failed', Approved: 'unsigned'}[decided.type as 'Denied'] : 'pending'}`,
    sentence: `the request is ${state}`,
    since: decided?.lastTransitionTime ?? csr.metadata?.creationTimestamp,
    ends: advice.map(line => line.replace(/\.?$/, '.')).join(' '),
  };
};

export const certificateRequestSubject = subject<CertificateSigningRequest>({
  rules: [unissued],
  rest: async (csr, {client, now}) => (await explanationOf(client, csr, now))[0] ?? '',
});
