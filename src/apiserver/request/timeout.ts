import {StatusError, timeout} from '#src/api/status.js';

/** The 504 of work that took longer than its request may. */
export const requestTimeout = (): StatusError => timeout('request did not complete within the allotted timeout');

/** The 504 of a request that was not answered by its deadline. */
export class DeadlineExceeded extends StatusError {
  constructor() {
    super(requestTimeout().status);
  }
}
