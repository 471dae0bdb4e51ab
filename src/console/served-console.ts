/** A console that is served. */
export interface ServedConsole extends AsyncDisposable {
  /** `http://host:port`, without a token. */
  readonly url: string;
  /** Returns a new link, which opens the page once. Whoever has it acts with the rights of the console's user. */
  link(): string;
}
