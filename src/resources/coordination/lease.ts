import {forbiddenField, invalid, notSupported, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {Lease} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';

/** Ways to choose a holder that are not a foreign controller's own. */
const strategies = ['OldestEmulationVersion'];

/** A way to choose a holder: a known one, or a foreign one with its domain. */
export function* validateStrategy(strategy: string): Iterable<FieldError> {
  // The doubled path is what callers of the original see.
  const path = 'spec.strategy.strategy';
  if (strategy.includes('/')) for (const problem of labelKeyProblems(strategy)) yield invalid(path, strategy, problem);
  else if (!strategies.includes(strategy)) yield notSupported(path, strategy, strategies);
}

function* validate({spec = {}}: Readonly<Lease>): Iterable<FieldError> {
  const {leaseDurationSeconds: duration, leaseTransitions: transitions, strategy, preferredHolder} = spec;
  if (typeof duration === 'number' && duration <= 0) yield invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0');
  if (typeof transitions === 'number' && transitions < 0) yield invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0');
  if (typeof strategy === 'string') yield* validateStrategy(strategy);
  if (preferredHolder && !strategy) yield forbiddenField('spec.preferredHolder', 'may only be specified if `strategy` is defined');
}

/** Who holds something for how long. What leaders are elected with, and how nodes say that they live. */
export const leases = defineResource<Lease>({
  kind: kinds.leases,
  nameProblems: subdomainName,
  createOnUpdate: true,
  unconditionalUpdate: false,
  alwaysPresent: {spec: {}},
  anyFinalizers: true,
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(lease, old, {gate}) {
      // Fields of a feature that is off are dropped, unless they are in use already.
      if (!lease.spec || gate('CoordinatedLeaderElection')) return;
      for (const field of ['strategy', 'preferredHolder'] as const) if (old?.spec?.[field] === undefined) delete lease.spec[field];
    },
    validate,
  },
  columns: [
    nameColumn,
    {name: 'Holder', description: 'Who holds the lease now.', of: ({spec}) => spec?.holderIdentity ?? ''},
    ageColumn,
  ],
});
