/** The rejection of a pod: the reason of its status, and the message of the event. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** Thrown when it turns out that the node cannot have a pod which it has admitted. */
export class PodRejected extends Error {
  override readonly name = 'PodRejected';
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super(rejection.message);
    this.rejection = rejection;
  }
}

/** The reason and the message in the status of a rejected pod. */
export const rejectionOutcome = ({reason, message}: Rejection): Rejection => ({reason, message: `Pod was rejected: ${message}`});
