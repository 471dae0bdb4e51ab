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

/** What a server has for admission by policies. */
export interface PolicyParts {
  readonly registry: Pick<Registry, 'find' | 'served'>;
  readonly meter: Meter;
  /** The policies of a kind that are in force. */
  sourceOf<S extends CommonSpec>(policies: Kind, bindings: Kind): PolicySource<S>;
}

/** What policies of either kind are judged with. */
export interface PolicyContext extends MatchingContext {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly reader: Reader;
  readonly authorizer: Authorizer;
  readonly meter: Meter;
}

type Parts = Omit<PolicyContext, 'registry' | 'meter' | 'authorizer'> & {readonly authorizer: Authorizer | undefined; readonly policies: PolicyParts};

const allowing: Authorizer = {authorize: () => ({decision: 'allow'})};

/** Makes what one of the two plugins works with. */
export const policyContext = ({naming, clock, reader, findNamespace, authorizer = allowing, policies: {registry, meter}}: Parts): PolicyContext => ({
  naming,
  clock,
  reader,
  findNamespace,
  authorizer,
  registry,
  meter,
});
