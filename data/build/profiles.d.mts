/** Constants for the bundler, by profile. */
export const profiles: Record<'default' | 'development', Record<string, string>>;
