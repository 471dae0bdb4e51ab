/** A command line that cannot be used. The message is one line, names the flag and the cause, and is all a user is shown. */
export class OptionError extends Error {
  override readonly name = 'OptionError';

  constructor(message: string, options?: ErrorOptions) {
    super(message.replaceAll(/\s*[\r\n]+\s*/g, ' '), options);
  }
}
