/** The rejection of a pod: the reason of its status, and the message of the event. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** The reason and the message in the status of a rejected pod. */
export const rejectionOutcome = ({reason, message}: Rejection): Rejection => ({reason, message: `Pod was rejected: ${message}`});
