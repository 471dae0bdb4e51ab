import type {Authorizer} from '#src/api/authorization.js';
import type {Kind} from '#src/api/kind.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import type {MatchingContext} from '#src/apiserver/admission/matching/match.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {CommonSpec} from './policy.js';
import type {PolicySource} from './source.js';

/** The server's dependencies of policy admission. */
export interface PolicyParts {
  readonly registry: Pick<Registry, 'find' | 'served'>;
  readonly meter: Meter;
  /** The active policies of a kind. */
  sourceOf<S extends CommonSpec>(policies: Kind, bindings: Kind): PolicySource<S>;
}

/** The context of policies of either kind. */
export interface PolicyContext extends MatchingContext {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly reader: Reader;
  readonly authorizer: Authorizer;
  readonly meter: Meter;
}

type Parts = Omit<PolicyContext, 'registry' | 'meter' | 'authorizer'> & {
  readonly authorizer: Authorizer | undefined;
  readonly policies: PolicyParts;
};

const allowing: Authorizer = {authorize: () => ({decision: 'allow'})};

/** Creates the context of one of the two plugins. */
export const policyContext = ({
  naming,
  clock,
  reader,
  findNamespace,
  authorizer = allowing,
  policies: {registry, meter},
}: Parts): PolicyContext => ({
  naming,
  clock,
  reader,
  findNamespace,
  authorizer,
  registry,
  meter,
});
