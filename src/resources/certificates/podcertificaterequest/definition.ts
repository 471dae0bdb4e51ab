import {forbiddenField} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import {mayForSigner} from '#src/resources/certificates/signer-permission.js';
import {nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {labelsCell} from '#src/resources/workload/columns.js';
import {sameStatus, validateOutcome} from './outcome.js';
import {validateRequest} from './request.js';

const daySeconds = 86_400;

const outcomes: ReadonlySet<string> = new Set(['Issued', 'Denied', 'Failed']);

const selected =
  (field: 'signerName' | 'podName' | 'nodeName') =>
  ({spec}: Readonly<PodCertificateRequest>): string =>
    (spec as Partial<PodCertificateRequest['spec']> | undefined)?.[field] ?? '';

/**
 * PodCertificateRequest: requests a certificate for a pod, made by its node (KEP-4317). Its spec never changes, its
 * status once.
 */
export const podCertificateRequests = defineResource<PodCertificateRequest>({
  kind: kinds.podCertificateRequests,
  served: {gates: ['PodCertificateRequest']},
  storage: {alwaysPresent: {status: {}}},
  metadata: {nameProblems: subdomainName},
  update: {unconditional: false},
  default({spec}) {
    if (spec) spec.maxExpirationSeconds ??= daySeconds;
  },
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    validate: ({spec}, old, {naming}) => (old ? immutable('spec', spec, old.spec) : validateRequest(spec ?? {}, naming)),
  },
  subresources: {
    status: {
      writes: {update: ['status']},
      validate: (request, old, context) => (old ? validateOutcome(request, old, context) : []),
      async authorize(request, old, {naming, user}, {authorizer}) {
        if (!old || sameStatus(request.status, old.status)) return [];
        const {signerName} = old.spec;
        if (await mayForSigner({naming, authorizer}, user, 'sign', signerName)) return [];
        return [
          forbiddenField(
            'spec.signerName',
            `User ${JSON.stringify(user.name)} is not permitted to "sign" for signer ${JSON.stringify(signerName)}`,
          ),
        ];
      },
    },
  },
  selection: {
    fields: {
      'spec.signerName': selected('signerName'),
      'spec.podName': selected('podName'),
      'spec.nodeName': selected('nodeName'),
    },
  },
  presentation: {
    columns: [
      nameColumn,
      {name: 'PodName', description: 'The pod that the certificate is for.', of: selected('podName')},
      {name: 'ServiceAccountName', description: 'The account of the pod.', of: ({spec}) => spec.serviceAccountName},
      {name: 'NodeName', description: 'The node of the pod.', of: selected('nodeName')},
      {name: 'SignerName', description: 'The signer that is asked.', of: selected('signerName')},
      {
        name: 'State',
        description: 'Whether it waits, or was issued, denied or failed.',
        of: ({status}) => status?.conditions?.findLast(({type}) => outcomes.has(type))?.type ?? 'Pending',
      },
      {
        name: 'UnverifiedUserAnnotations',
        description: 'What the pod has to say to the signer.',
        of: ({spec}) => labelsCell(spec.unverifiedUserAnnotations),
      },
    ],
  },
});
