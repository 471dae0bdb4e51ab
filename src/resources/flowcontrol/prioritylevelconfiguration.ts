import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type HookContext} from '#src/resources/definition.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {mandatoryObjects, type PriorityLevel} from './bootstrap.js';
import {validateTypes} from './flowschema.js';

type Spec = NonNullable<PriorityLevel['spec']>;
type Limited = NonNullable<Spec['limited']>;
type Queuing = NonNullable<NonNullable<Limited['limitResponse']>['queuing']>;

const maxQueues = 10_000_000;
/** Hands are dealt from one hash of a flow. */
const hashBits = 60;

/** Returns the number of hash bits needed to deal a hand from a deck. */
const entropyBits = (deck: number, hand: number): number => Math.ceil(Math.log2(deck) * hand);

interface Shares {
  readonly nominalConcurrencyShares?: number;
  readonly lendablePercent?: number;
}

function* validateShares({nominalConcurrencyShares: shares = 0}: Shares, path: string): Iterable<FieldError> {
  if (shares < 0) yield invalid(`${path}.nominalConcurrencyShares`, shares, 'must be a non-negative integer');
}

function* validateLendable({lendablePercent: lendable}: Shares, path: string): Iterable<FieldError> {
  if (typeof lendable === 'number' && (lendable < 0 || lendable > 100))
    yield invalid(`${path}.lendablePercent`, lendable, 'must be between 0 and 100, inclusive');
}

function* validateQueuing({queues = 0, handSize = 0, queueLengthLimit = 0}: Partial<Queuing>, path: string): Iterable<FieldError> {
  if (queueLengthLimit <= 0) yield invalid(`${path}.queueLengthLimit`, queueLengthLimit, 'must be positive');
  if (queues <= 0) yield invalid(`${path}.queues`, queues, 'must be positive');
  else if (queues > maxQueues) yield invalid(`${path}.queues`, queues, `must not be greater than ${maxQueues}`);
  if (handSize <= 0) yield invalid(`${path}.handSize`, handSize, 'must be positive');
  else if (handSize > queues) yield invalid(`${path}.handSize`, handSize, `should not be greater than queues (${queues})`);
  else if (entropyBits(queues, handSize) > hashBits) {
    yield invalid(
      `${path}.handSize`,
      handSize,
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBits}`,
    );
  }
}

function* validateLimited(limited: Limited, path: string): Iterable<FieldError> {
  yield* validateShares(limited, path);
  const {borrowingLimitPercent: borrowing, limitResponse: response} = limited;
  const at = `${path}.limitResponse`;
  if (response?.type === 'Reject') {
    if (response.queuing) yield forbiddenField(`${at}.queuing`, 'must be nil if limited.limitResponse.type is not Limited');
  } else if (response?.type === 'Queue') {
    if (!response.queuing) yield required(`${at}.queuing`, 'must not be empty if limited.limitResponse.type is Limited');
    else yield* validateQueuing(response.queuing, `${at}.queuing`);
  } else yield notSupported(`${at}.type`, response?.type ?? '', ['Queue', 'Reject']);
  yield* validateLendable(limited, path);
  if (typeof borrowing === 'number' && borrowing < 0)
    yield invalid(`${path}.borrowingLimitPercent`, borrowing, 'if specified, must be a non-negative integer');
}

function* validateSpec(name: string, {type = '', limited, exempt}: Partial<Spec>): Iterable<FieldError> {
  if ((name === 'exempt') !== (type === 'Exempt')) yield invalid('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'");
  if (type === 'Exempt') {
    if (limited) yield forbiddenField('spec.limited', 'must be nil if the type is not Limited');
    if (!exempt) return;
    yield* validateShares(exempt, 'spec.exempt');
    yield* validateLendable(exempt, 'spec.exempt');
  } else if (type === 'Limited') {
    if (exempt) yield forbiddenField('spec.exempt', 'must be nil if the type is Limited');
    if (!limited) yield required('spec.limited', 'must not be empty when type is Limited');
    else yield* validateLimited(limited, 'spec.limited');
  } else yield notSupported('spec.type', type, ['Exempt', 'Limited']);
}

function* validate({metadata, spec, status}: Readonly<PriorityLevel>, _old: unknown, {naming}: HookContext): Iterable<FieldError> {
  const name = metadata?.name ?? '';
  const preserving = `flowcontrol.${naming.apiSuffix}/v1beta3-preserve-zero-concurrency-shares`;
  if (metadata?.annotations?.[preserving] !== undefined)
    yield forbiddenField('metadata.annotations', `annotation '${preserving}' is forbidden`);
  yield* validateSpec(name, spec ?? {});
  const fixed = mandatoryObjects(naming).levels.find(level => level.metadata?.name === name)?.spec;
  const unequal = (message: string) => invalid('spec', internalForm('PriorityLevelConfigurationSpec', spec ?? {}), message);
  if (fixed && name === 'exempt') {
    const {exempt: _, ...rest} = spec ?? ({} as Spec);
    const {exempt: __, ...fixedRest} = fixed;
    if (!semanticallyEqual(rest, fixedRest)) yield unequal("spec of 'exempt' except the 'spec.exempt' field must equal the fixed value");
  } else if (fixed && !semanticallyEqual(spec, fixed)) yield unequal(`spec of '${name}' must equal the fixed value`);
  yield* validateTypes(status?.conditions);
}

const queuingColumn = (name: string, field: keyof Queuing, description: string): Column<PriorityLevel> => ({
  name,
  description,
  of: ({spec}) => spec?.limited?.limitResponse?.queuing?.[field] ?? '<none>',
});

const columns: readonly Column<PriorityLevel>[] = [
  nameColumn,
  {name: 'Type', description: 'Whether its requests are limited.', of: ({spec}) => spec?.type ?? ''},
  {
    name: 'NominalConcurrencyShares',
    description: 'Its share of the server, beside those of the other levels.',
    of: ({spec}) => spec?.limited?.nominalConcurrencyShares ?? '<none>',
  },
  queuingColumn('Queues', 'queues', 'How many queues it has.'),
  queuingColumn('HandSize', 'handSize', 'How many queues a flow may choose from.'),
  queuingColumn('QueueLengthLimit', 'queueLengthLimit', 'How many requests may wait in one queue.'),
  ageColumn,
];

/**
 * PriorityLevelConfiguration: a share of the server's concurrency, and whether excess requests wait or are rejected.
 */
export const priorityLevelConfigurations = defineResource<PriorityLevel>({
  kind: kinds.priorityLevelConfigurations,
  storage: {alwaysPresent: {status: {}}},
  metadata: {nameProblems: subdomainName, generation: true},
  default({spec}) {
    if (spec?.limited) {
      spec.limited.nominalConcurrencyShares ??= 30;
      spec.limited.lendablePercent ??= 0;
      const response = spec.limited.limitResponse;
      if (response?.queuing) {
        response.queuing.handSize ||= 8;
        response.queuing.queues ||= 64;
        response.queuing.queueLengthLimit ||= 50;
      }
    }
    if (spec?.exempt) {
      spec.exempt.nominalConcurrencyShares ??= 0;
      spec.exempt.lendablePercent ??= 0;
    }
  },
  main: {metadata: 'whole', writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  subresources: {status: {writes: {update: ['status']}, validate: ({status}) => validateTypes(status?.conditions)}},
  presentation: {columns},
});
