import type {Credentials} from './request.js';
import type {UserInfo} from './user.js';

/** What an authenticator looks at. */
export interface AuthenticationRequest {
  readonly credentials: Credentials;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whom the credential must be meant for; the server itself unless given. */
  readonly audiences?: readonly string[];
  /** Tells the caller something about his credential by a `Warning` header. */
  warn?(text: string): void;
  /** Notes something in the request's audit event; absent where none is written. */
  annotate?(key: string, text: string): void;
}

/**
 * What came of it: a user; `undefined` when the request carries no credential of this method; `rejected` (with the reason, for the log) when it
 * carries one that is not valid. A union goes on after a rejection, and a request with a rejection and no success is unauthorized.
 */
export type Authentication = {readonly user: UserInfo; readonly audiences?: readonly string[]} | {readonly rejected: string} | undefined;

export interface Authenticator {
  readonly name: string;
  /** Set where it judges bearer tokens: with one that does, a token nobody accepts is refused; with none, tokens are no credentials. */
  readonly takesTokens?: true;
  authenticate(request: AuthenticationRequest): Authentication | Promise<Authentication>;
}
