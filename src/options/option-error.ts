/**
 * Thrown for an invalid command line. The message is a single line that names the flag and the cause; only the message
 * is shown to the user.
 */
export class OptionError extends Error {
  override readonly name = 'OptionError';

  constructor(message: string, options?: ErrorOptions) {
    super(message.replaceAll(/\s*[\r\n]+\s*/g, ' '), options);
  }
}
