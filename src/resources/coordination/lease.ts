import {forbiddenField, invalid, notSupported, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {Lease} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';

/** Strategies that need no domain. */
const strategies = ['OldestEmulationVersion'];

/** Validates a coordination strategy: a built-in one, or a custom one with a domain. */
export function* validateStrategy(strategy: string): Iterable<FieldError> {
  // The doubled path is the original's.
  const path = 'spec.strategy.strategy';
  if (strategy.includes('/')) for (const problem of labelKeyProblems(strategy)) yield invalid(path, strategy, problem);
  else if (!strategies.includes(strategy)) yield notSupported(path, strategy, strategies);
}

function* validate({spec = {}}: Readonly<Lease>): Iterable<FieldError> {
  const {leaseDurationSeconds: duration, leaseTransitions: transitions, strategy, preferredHolder} = spec;
  if (typeof duration === 'number' && duration <= 0) yield invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0');
  if (typeof transitions === 'number' && transitions < 0)
    yield invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0');
  if (typeof strategy === 'string') yield* validateStrategy(strategy);
  if (preferredHolder && !strategy) yield forbiddenField('spec.preferredHolder', 'may only be specified if `strategy` is defined');
}

/** Lease: its holder and duration. Used for leader election and node heartbeats. */
export const leases = defineResource<Lease>({
  kind: kinds.leases,
  storage: {alwaysPresent: {spec: {}}},
  metadata: {nameProblems: subdomainName, anyFinalizers: true},
  update: {createsMissing: true, unconditional: false},
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(lease, old, {gate}) {
      // Drops fields while their gate is off, unless they are in use.
      if (!lease.spec || gate('CoordinatedLeaderElection')) return;
      for (const field of ['strategy', 'preferredHolder'] as const) if (old?.spec?.[field] === undefined) delete lease.spec[field];
    },
    validate,
  },
  presentation: {
    columns: [
      nameColumn,
      {name: 'Holder', description: 'The current holder of the lease.', of: ({spec}) => spec?.holderIdentity ?? ''},
      ageColumn,
    ],
  },
});
