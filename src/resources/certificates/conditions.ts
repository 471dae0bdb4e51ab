import {duplicate, forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {wireTime} from '#src/api/time.js';
import type {CertificateSigningRequest, CertificateSigningRequestCondition as Condition} from '#src/api/types.js';
import type {HookContext} from '#src/resources/definition.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';

const path = 'status.conditions';
const verdicts = ['Approved', 'Denied'];
const lasting = [...verdicts, 'Failed'];

export const conditionsOf = (csr: Readonly<CertificateSigningRequest> | undefined): readonly Condition[] => csr?.status?.conditions ?? [];

const ofType = (csr: Readonly<CertificateSigningRequest> | undefined, type: string): readonly Condition[] =>
  conditionsOf(csr).filter(condition => condition.type === type);

/** Reverts edits of approval conditions, as long as none was added or removed. */
export const restoreVerdicts = (csr: CertificateSigningRequest, old: Readonly<CertificateSigningRequest> | undefined): void => {
  for (const type of verdicts) {
    const stored = ofType(old, type);
    if (stored.length === 0 || stored.length !== ofType(csr, type).length) continue;
    const next = stored[Symbol.iterator]();
    csr.status!.conditions = csr.status!.conditions!.map(condition => (condition.type === type ? {...next.next().value!} : condition));
  }
};

/** Sets omitted times. A condition that keeps its status keeps its transition time. */
export const fillTimes = (
  csr: CertificateSigningRequest,
  old: Readonly<CertificateSigningRequest> | undefined,
  {clock}: HookContext,
): void => {
  if (!csr.status?.conditions) return;
  const now = wireTime(clock.now());
  const transitionOf = ({type, status}: Condition): string =>
    conditionsOf(old).find(before => before.type === type && before.status === status && before.lastTransitionTime)?.lastTransitionTime ??
    now;
  csr.status.conditions = csr.status.conditions.map(condition => ({
    ...condition,
    lastUpdateTime: condition.lastUpdateTime || now,
    lastTransitionTime: condition.lastTransitionTime || transitionOf(condition),
  }));
};

const hasAllVerdicts = (conditions: readonly Condition[]): boolean =>
  verdicts.every(type => conditions.some(condition => condition.type === type));

const hasDuplicates = (conditions: readonly Condition[]): boolean => new Set(conditions.map(({type}) => type)).size < conditions.length;

function* validateStatus({type, status}: Condition, at: string): Iterable<FieldError> {
  const allowed = lasting.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
  if (!status) yield required(`${at}.status`);
  else if (!allowed.includes(status)) yield notSupported(`${at}.status`, status, allowed);
}

/** Validates the conditions. What the stored object already violates is accepted. */
export function* validateConditions(
  csr: Readonly<CertificateSigningRequest>,
  old: Readonly<CertificateSigningRequest> | undefined,
): Iterable<FieldError> {
  const before = conditionsOf(old);
  const may = {
    leaveTypeEmpty: before.some(({type}) => !type),
    repeat: hasDuplicates(before),
    haveBothVerdicts: hasAllVerdicts(before),
  };
  const seen = new Set<string>();
  for (const [i, condition] of conditionsOf(csr).entries()) {
    const {type} = condition;
    const at = `${path}[${i}]`;
    if (!type && !may.leaveTypeEmpty) yield required(`${at}.type`);
    yield* validateStatus(condition, at);
    const opposite = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : undefined;
    if (opposite && seen.has(opposite) && !may.haveBothVerdicts)
      yield invalid(path, type, 'Approved and Denied conditions are mutually exclusive');
    if (seen.has(type) && !may.repeat) yield duplicate(`${at}.type`, type);
    seen.add(type);
  }
}

export interface ConditionRights {
  /** The types that may be added. */
  readonly add: readonly string[];
  /** Whether approval conditions may be edited. */
  readonly editVerdicts: boolean;
}

/** Validates changes of the conditions: a decision is final. */
export function* validateConditionChanges(
  csr: Readonly<CertificateSigningRequest>,
  old: Readonly<CertificateSigningRequest>,
  {add, editVerdicts}: ConditionRights,
): Iterable<FieldError> {
  for (const type of lasting) {
    if (ofType(csr, type).length < ofType(old, type).length)
      yield forbiddenField(path, `updates may not remove a condition of type "${type}"`);
  }
  for (const type of lasting) {
    const [now, before] = [ofType(csr, type), ofType(old, type)];
    if (now.length > before.length && !add.includes(type)) yield forbiddenField(path, `updates may not add a condition of type "${type}"`);
    if (now.length === before.length && verdicts.includes(type) && !editVerdicts && !semanticallyEqual(now, before)) {
      yield forbiddenField(path, `updates may not modify a condition of type "${type}"`);
    }
  }
}
