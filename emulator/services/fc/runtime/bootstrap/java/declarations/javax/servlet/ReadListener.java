package javax.servlet;

/** Declared for the compiler; the class itself is that of the function. */
public interface ReadListener {}
