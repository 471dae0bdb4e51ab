/** A condition of any kind's status. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

interface Conditioned {
  readonly status?: {readonly conditions?: readonly Condition[]} | undefined;
}

export const conditionOf = ({status}: Conditioned, type: string): Condition | undefined =>
  status?.conditions?.find(condition => condition.type === type);

/** `Reason: message`, or what there is of it. */
export const becauseOf = ({reason, message}: Pick<Condition, 'reason' | 'message'>): string =>
  [reason, message?.trim().replace(/\.$/, '')].filter(Boolean).join(': ') || 'no reason was given';
