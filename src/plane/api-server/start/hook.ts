/** Work of a server that begins when it serves, and must finish before it is ready. */
export interface StartHook {
  readonly name: string;
  /** The hooks that must finish first. They are in the same list. */
  readonly after?: readonly StartHook[];
  run(): Promise<void>;
  /**
   * Creates what the hook creates once more: the data of the store were replaced. Absent where nothing is lost, or
   * where it is renewed regularly.
   */
  again?(): Promise<void>;
}
